package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
)

// measuredMethod is a fusion method with its answers to all questions.
type measuredMethod struct {
	name    string // for people
	method  string // that "auto" may stand for
	answers []MethodAnswer
}

// compareMethods adds to the gate's answers those of the methods that need no fit, or that of one number. It leaves out
// methods that use only the ensembles. It fails if a method does.
func (f *fitRun) compareMethods(gated []MethodAnswer) error {
	f.methods = []measuredMethod{{"gate (fitted on other folds)", fusion.MethodGate, gated}}
	offer := f.methodOffer()
	for _, m := range fusion.Methods() {
		name := m.Name
		switch {
		case len(m.Lacks(offer)) > 0: // the gate too, which is measured already
			continue
		case m.CalibratedWeight(fusion.Lexical):
			name = fmt.Sprintf("%s, α %.4f (fitted on other folds)", name, f.record.Alpha)
		}
		answers, err := By(f.Questions, func(q *Question) (fusion.Ranking, error) {
			in := q.inputOf(m)
			if m.RanksGranularities() {
				in.Sources = f.surest[q.ID].chosenSources(in.Sources)
			}
			return m.Fuse(in, f.others[q.ID], AnsweredDepth)
		})
		if err != nil {
			return err
		}
		f.methods = append(f.methods, measuredMethod{name, m.Name, answers})
	}
	return nil
}

// methodOffer returns what the questions offer to the methods that need no fit or the fit of one number. No expert in
// it has a confidence, so that methods which need the ensembles lack something.
func (f *fitRun) methodOffer() fusion.Offer {
	o := fusion.Offer{Words: f.hasWords(), Temperature: true}
	for _, source := range f.Questions[0].Sources {
		if source.Kind.Dense() {
			o.Experts = append(o.Experts, fusion.Ability{Granular: f.record.CCE != nil})
		}
	}
	return o
}

// leastAhead is by how many standard errors of the mean difference another method has to be better than the gate to
// become "auto". With few questions one is often better by chance.
const leastAhead = 2

// chooseAuto sets the record's "auto" to the gate, or to the best of the methods that are significantly better by the
// sum of top-1 and top-20. A method by which the collection cannot answer is passed over with a warning; it fails if
// there is no other.
func (f *fitRun) chooseAuto() (err error) {
	for _, m := range tryOrder(f.methods) {
		f.record.Auto = m.method
		err = f.options.Try(f.record)
		if err == nil {
			return nil
		}
		f.report.Warnings = append(
			f.report.Warnings,
			fmt.Sprintf("%s is passed over, since this collection cannot answer by it: %v", m.method, err),
		)
	}
	return fmt.Errorf("no method can answer with this calibration, and nothing was written: %w", err)
}

// tryOrder returns the methods in the order in which they are tried: those that are significantly better than the gate,
// the gate, and the others. The first and the last part are ordered by the sum of top-1 and top-20 accuracy, the
// highest first. The first of methods must be the gate.
func tryOrder(methods []measuredMethod) []measuredMethod {
	gate := methods[0]
	better, others := []measuredMethod{}, []measuredMethod{}
	for _, m := range methods[1:] {
		if m.standardErrorsAhead(gate) > leastAhead {
			better = append(better, m)
		} else {
			others = append(others, m)
		}
	}
	byQuality := func(a, b measuredMethod) int { return cmp.Compare(b.topSum(), a.topSum()) }
	slices.SortStableFunc(better, byQuality)
	slices.SortStableFunc(others, byQuality)
	return slices.Concat(better, []measuredMethod{gate}, others)
}

// standardErrorsAhead returns by how many standard errors m's answers are worth more than other's on the same questions
// (worthOfAnswer); negative if they are worth less. It is infinite if the difference is the same for every question,
// and 0 if there is none or only one question.
func (m measuredMethod) standardErrorsAhead(other measuredMethod) float64 {
	sum := 0.0
	squares := 0.0
	n := float64(len(m.answers))
	for i := range m.answers {
		d := worthOfAnswer(m.answers[i]) - worthOfAnswer(other.answers[i])
		sum += d
		squares += d * d
	}
	mean := sum / n
	if mean == 0 || n < 2 {
		return 0
	}
	return mean / math.Sqrt(max(squares/n-mean*mean, 0)/(n-1)) // one that is always ahead by the same: ±Inf
}

// topSum returns the sum of top-1 and top-20 accuracy.
func (m measuredMethod) topSum() float64 { return Accuracy(m.answers, 1) + Accuracy(m.answers, 20) }

// worthOfAnswer returns 0, or 1 if a passage among the first 20 answers, or 2 if the first does.
func worthOfAnswer(a MethodAnswer) float64 {
	one := []MethodAnswer{a}
	return Accuracy(one, 1) + Accuracy(one, 20)
}
