package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
)

// method is a fusion with its answers to all questions.
type method struct {
	name    string // for people
	method  string // that "auto" may stand for
	answers []Answered
}

// compare measures beside the gate the methods that need no fit, or that of one number. It
// leaves out methods that rest on the ensembles alone.
func (f *fitting) compare(gated []Answered) error {
	f.methods = []method{{"gate (fitted on other folds)", fusion.MethodGate, gated}}
	offer := f.offer()
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
				in.Sources = f.surest[q.ID].chosen(in.Sources)
			}
			return m.Fuse(in, f.others[q.ID], AnsweredDepth)
		})
		if err != nil {
			return err
		}
		f.methods = append(f.methods, method{name, m.Name, answers})
	}
	return nil
}

// offer returns what the questions have for methods to rank by that need no fit, or that of one
// number: nobody says how sure an expert is.
func (f *fitting) offer() fusion.Offer {
	o := fusion.Offer{Words: f.words(), Temperature: true}
	for _, source := range f.Questions[0].Sources {
		if source.Kind.Dense() {
			o.Experts = append(o.Experts, fusion.Ability{Granular: f.record.CCE != nil})
		}
	}
	return o
}

// surely is how many standard errors of the mean difference another method has to be ahead
// of the gate by. With few questions one is often ahead by chance.
const surely = 2

// choose makes "auto" the gate, or the best of the methods that are significantly better,
// by the sum of top-1 and top-20.
func (f *fitting) choose() (err error) {
	for _, m := range inOrder(f.methods) {
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

// inOrder returns the methods in the order in which they are to be tried; the first
// that was measured is the gate.
func inOrder(methods []method) []method {
	gate := methods[0]
	better, others := []method{}, []method{}
	for _, m := range methods[1:] {
		if m.ahead(gate) > surely {
			better = append(better, m)
		} else {
			others = append(others, m)
		}
	}
	byQuality := func(a, b method) int { return cmp.Compare(b.quality(), a.quality()) }
	slices.SortStableFunc(better, byQuality)
	slices.SortStableFunc(others, byQuality)
	return slices.Concat(better, []method{gate}, others)
}

// ahead returns by how many of its standard errors the mean of the difference to
// another method's answers is above 0.
func (m method) ahead(other method) float64 {
	sum := 0.0
	squares := 0.0
	n := float64(len(m.answers))
	for i := range m.answers {
		d := worth(m.answers[i]) - worth(other.answers[i])
		sum += d
		squares += d * d
	}
	mean := sum / n
	if mean == 0 || n < 2 {
		return 0
	}
	return mean / math.Sqrt(max(squares/n-mean*mean, 0)/(n-1)) // one that is always ahead by the same: ±Inf
}

func (m method) quality() float64 { return Accuracy(m.answers, 1) + Accuracy(m.answers, 20) }

// worth returns 1 for an answer among the first 20, and 1 more for one in front.
func worth(a Answered) float64 {
	one := []Answered{a}
	return Accuracy(one, 1) + Accuracy(one, 20)
}
