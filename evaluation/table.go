package evaluation

import (
	"cmp"
	"slices"
	"strings"

	"example.org/conclave/calibration"
)

// Scope is what a table averages over: all questions, the domains, or the questions of one domain.
type Scope string

// The scopes.
const (
	ScopeMix    Scope = "mix"    // all questions, each counting the same
	ScopeMacro  Scope = "macro"  // the mean over domains, each counting the same
	ScopeDomain Scope = "domain" // the questions of one domain
)

// Table compares the methods on one set of questions.
type Table struct {
	Name      string `json:"name"`
	Scope     Scope  `json:"scope"`
	Questions int    `json:"questions"`
	Rows      []Row  `json:"rows"`
}

// Row is the result of one method.
type Row struct {
	Method string     `json:"method"`
	Kind   MethodKind `json:"kind"`
	// Values are the measures, 0 to 1, by their key (see Metrics). One that
	// these questions or this method do not have is not there.
	Values map[string]float64 `json:"values"`
	// P is the two-sided p-value of a paired randomisation test against the
	// reference method, by measure. Nothing corrects for how many methods are
	// compared.
	P       map[string]float64 `json:"p,omitempty"`
	Latency *Latency           `json:"latency,omitempty"`
	// Coverage is top-1 where only the surest tenth, two tenths, … of the
	// questions are answered; nil for a method without confidence, and in the
	// mean over domains.
	Coverage []float64 `json:"coverage,omitempty"`

	// Curve is the accuracy at k from 1 to the depth. Only in the table of the
	// mix, or in the only one.
	Curve []float64 `json:"-"`
	// Reliability is how often the first passage was right, by confidence.
	Reliability []calibration.Bin `json:"-"`
}

// testRounds is how often the pairs are swapped at random.
const testRounds = 10_000

// tableBuilder makes the tables of a report.
type tableBuilder struct {
	methods   []Method // with the oracles
	metrics   []Metric
	parts     []part
	reference int // into methods; -1: none
	depth     int
}

// part is a domain with the outcomes of all methods, nil where one is not
// defined.
type part struct {
	*DomainResults
	outcomes [][]Outcome
}

// allTables returns the table of all questions, the one of the means over domains, and one for each domain; only one if
// there is one domain.
func (s *tableBuilder) allTables() []Table {
	if len(s.parts) == 1 {
		name := cmp.Or(s.parts[0].Domain, "all questions")
		return []Table{s.meanTable(name, ScopeDomain, s.parts, true)}
	}
	out := []Table{s.meanTable("all questions", ScopeMix, s.parts, true), s.macroTable()}
	for _, p := range s.parts {
		out = append(out, s.meanTable(p.Domain, ScopeDomain, []part{p}, false))
	}
	return out
}

// meanTable returns the table of the means over the questions of some domains. Methods without outcomes in one of them
// are left out. With detailed, it has the rows' curves as well.
func (s *tableBuilder) meanTable(name string, scope Scope, parts []part, detailed bool) Table {
	t := Table{Name: name, Scope: scope}
	for _, p := range parts {
		t.Questions += len(p.Questions)
	}
	for i, method := range s.methods {
		if !hasOutcomes(parts, i) {
			continue
		}
		row := Row{Method: method.Name, Kind: method.Kind, Values: map[string]float64{}}
		for _, m := range s.metrics {
			if m.score == nil {
				continue
			}
			if scores := scoresOf(parts, i, m); len(scores) > 0 {
				row.Values[m.Key] = mean(scores)
				s.testRow(&row, m, parts, i, nil)
			}
		}
		outcomes := confidencesOf(parts, i, func(*AskedQuestion) bool { return true })
		addConfidences(&row, outcomes)
		if mixture := mixtureConfidences(parts, i); mixture != nil {
			addCalibration(&row, mixture)
			outcomes = mixture
		}
		if empty := confidencesOf(parts, i, func(a *AskedQuestion) bool { return a.Unanswerable }); len(empty) > 0 {
			row.Values["silent"] = 1 - calibration.AtLeast(empty, .5, false)
		}
		if detailed {
			row.Curve = accuracyCurve(parts, i, s.depth)
			row.Reliability = calibration.Reliability(outcomes)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// macroTable returns the table of the means over domains, each of which counts the same. Methods without outcomes in a
// domain are left out, and so are measures of confidences that a domain lacks. If a domain has no questions for another
// measure, the mean is that of the other domains.
func (s *tableBuilder) macroTable() Table {
	t := Table{Name: "mean over domains", Scope: ScopeMacro}
	each := make([]Table, len(s.parts))
	for d, p := range s.parts {
		t.Questions += len(p.Questions)
		one := tableBuilder{methods: s.methods, metrics: s.metrics, parts: s.parts, reference: -1}
		each[d] = one.meanTable(p.Domain, ScopeDomain, []part{p}, false)
	}
	for i, method := range s.methods {
		if !hasOutcomes(s.parts, i) {
			continue
		}
		row := Row{Method: method.Name, Kind: method.Kind, Values: map[string]float64{}}
		for _, m := range s.metrics {
			var values []float64
			for d := range each {
				at := slices.IndexFunc(each[d].Rows, func(r Row) bool { return r.Method == method.Name })
				if v, ok := each[d].Rows[at].Values[m.Key]; ok {
					values = append(values, v)
				}
			}
			if len(values) == 0 || m.score == nil && len(values) < len(each) {
				continue
			}
			row.Values[m.Key] = mean(values)
			if m.score != nil {
				s.testRow(&row, m, s.parts, i, domainWeights(s.parts, m))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// testRow sets the row's p-value of a metric against the reference, if the metric is one to test. weights multiply the
// scores, so that their mean is the mean over domains; nil: all are 1.
func (s *tableBuilder) testRow(row *Row, m Metric, parts []part, method int, weights []float64) {
	if !m.Tested || s.reference < 0 || method == s.reference || !hasOutcomes(parts, s.reference) {
		return
	}
	a, b := scoresOf(parts, method, m), scoresOf(parts, s.reference, m)
	for i, w := range weights {
		a[i] *= w
		b[i] *= w
	}
	if row.P == nil {
		row.P = map[string]float64{}
	}
	row.P[m.Key] = PairedRandomisation(a, b, testRounds, 1)
}

// hasOutcomes reports whether a method has outcomes in all domains.
func hasOutcomes(parts []part, method int) bool {
	return !slices.ContainsFunc(parts, func(p part) bool { return p.outcomes[method] == nil })
}

// scoresOf returns a method's scores, question by question, in the same order for
// all methods.
func scoresOf(parts []part, method int, m Metric) []float64 {
	var scores []float64
	for _, p := range parts {
		for q := range p.Questions {
			if p.Questions[q].countsFor(m) {
				scores = append(scores, m.score(&p.outcomes[method][q]))
			}
		}
	}
	return scores
}

// countsFor reports whether a question counts for a metric: it has answers, or judged passages, as the metric needs.
func (a *AskedQuestion) countsFor(m Metric) bool {
	if m.answers {
		return a.Answerable
	}
	return a.Judged
}

// domainWeights returns, for each of the scores, n/(d·n_d): of n questions, those
// of one of d domains with n_d questions.
func domainWeights(parts []part, m Metric) []float64 {
	var counts []int
	total := 0
	for _, p := range parts {
		n := 0
		for q := range p.Questions {
			if p.Questions[q].countsFor(m) {
				n++
			}
		}
		if n > 0 {
			counts = append(counts, n)
			total += n
		}
	}
	var weights []float64
	for _, n := range counts {
		for range n {
			weights = append(weights, float64(total)/(float64(len(counts))*float64(n)))
		}
	}
	return weights
}

// confidencesOf returns a method's confidences for the questions that wanted selects, each with whether the first
// passage was right; nil if one has none.
func confidencesOf(parts []part, method int, wanted func(*AskedQuestion) bool) []calibration.Outcome {
	var out []calibration.Outcome
	for _, p := range parts {
		for q, asked := range p.Questions {
			if !wanted(&asked) {
				continue
			}
			o := &p.outcomes[method][q]
			if o.Confidence == nil {
				return nil
			}
			out = append(out, calibration.Outcome{Confidence: *o.Confidence, Correct: o.firstRight(asked)})
		}
	}
	return out
}

// firstRight reports whether the first passage is right: by judgements if the question has any, else by its answers.
func (o *Outcome) firstRight(a AskedQuestion) bool {
	if a.Judged {
		return o.First == 1
	}
	return o.FirstAnswer == 1
}

// addConfidences adds to a row the metrics of its confidences, and the curve of the accuracy by coverage. Without
// outcomes it does nothing.
func addConfidences(row *Row, outcomes []calibration.Outcome) {
	if len(outcomes) == 0 {
		return
	}
	addCalibration(row, outcomes)
	if right := calibration.AtLeast(outcomes, 0, true); right > 0 {
		row.Values["given"] = calibration.AtLeast(outcomes, .5, true)
	}
	row.Values["surest_half"] = calibration.AccuracyAt(outcomes, 0.5)
	for tenth := 1; tenth <= 10; tenth++ {
		row.Coverage = append(row.Coverage, calibration.AccuracyAt(outcomes, float64(tenth)/10))
	}
}

// addCalibration sets a row's ECE and AUROC, which say how far its confidences are right, and tell right answers from
// wrong ones. AUROC is left out if all answers are right, or all wrong.
func addCalibration(row *Row, outcomes []calibration.Outcome) {
	row.Values["ece"] = calibration.ECE(outcomes)
	delete(row.Values, "auroc")
	if area, ok := calibration.AUROC(outcomes); ok {
		row.Values["auroc"] = area
	}
}

// mixtureConfidences returns a method's confidences for the mixture that confidences are fitted to
// (calibration.MixtureOf): of questions with an answer, of the same with their passages taken out, and of those that
// nothing answers. It returns nil if a confidence is missing, also for a question with its passages taken out.
func mixtureConfidences(parts []part, method int) (all []calibration.Outcome) {
	own, empty := 0, 0
	for _, p := range parts {
		for q, asked := range p.Questions {
			o := &p.outcomes[method][q]
			switch {
			case o.Confidence == nil, !asked.Unanswerable && o.TakenOut == nil:
				return nil
			case asked.Unanswerable:
				empty++
			default:
				own++
			}
		}
	}
	takenOut, unanswerable := calibration.MixtureOf(own, own, empty)
	for _, p := range parts {
		for q, asked := range p.Questions {
			o := &p.outcomes[method][q]
			if asked.Unanswerable {
				all = append(all, calibration.Outcome{Confidence: *o.Confidence, Weight: unanswerable})
				continue
			}
			all = append(all, calibration.Outcome{Confidence: *o.Confidence, Correct: o.firstRight(asked)})
			if takenOut > 0 {
				all = append(all, calibration.Outcome{Confidence: *o.TakenOut, Weight: takenOut})
			}
		}
	}
	return all
}

// accuracyCurve returns the accuracy at k, from 1 to depth: by judgements where any question has some, else by answers.
// It returns nil if no question can be answered.
func accuracyCurve(parts []part, method, depth int) []float64 {
	measure := Metric{score: func(o *Outcome) float64 { return float64(o.First) }}
	firsts := scoresOf(parts, method, measure)
	if len(firsts) == 0 {
		measure = Metric{score: func(o *Outcome) float64 { return float64(o.FirstAnswer) }, answers: true}
		firsts = scoresOf(parts, method, measure)
	}
	if len(firsts) == 0 { // unanswerable questions alone
		return nil
	}
	found := make([]int, depth+1) // by the rank of the first
	for _, first := range firsts {
		if k := int(first); k <= depth {
			found[k]++
		}
	}
	out := make([]float64, depth)
	right := 0
	for k := range out {
		right += found[k+1]
		out[k] = float64(right) / float64(len(firsts))
	}
	return out
}

// mean returns the mean of values; NaN if there are none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// methodNamed returns the index of a method, whatever the case of its name unless two names differ only in case; -1 if
// there is none.
func methodNamed(methods []Method, name string) int {
	at := slices.IndexFunc(methods, func(m Method) bool { return m.Name == name })
	if at < 0 {
		at = slices.IndexFunc(methods, func(m Method) bool { return strings.EqualFold(m.Name, name) })
	}
	return at
}
