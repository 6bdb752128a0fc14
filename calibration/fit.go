// Package calibration fits confidences and weights to questions whose passages are known.
// Gather asks a collection these questions. Fit makes a Record, with which the collection
// is served, and a FitReport with its quality: the temperatures of the experts' ensembles,
// the weight of BM25 in the hybrid, the gate, and the chances that a source's first hit, and
// a fused answer, are right. The package keeps no state and is deterministic.
//
// An Outcome is a confidence and whether the answer was right. A Record is fitted on all
// questions. A report is of held-out questions: they are divided into five folds by a hash
// of their ids (foldOf), and each question is measured with the fit to the other four folds.
package calibration

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/fusion"
)

// FitOptions are the inputs of Fit beside the evidence.
type FitOptions struct {
	// Specialists is how many specialists the gate asks, the most familiar with each
	// question. 0: all.
	Specialists int
	// Towards and WithoutLate are the shipped gate, which few questions leave as it is;
	// Prior is the shipped confidence. Nil: there is none.
	Towards, WithoutLate *fusion.Gate
	Prior                *Prior
	// Verdict is the shipped one, for which the collection gets thresholds of its own.
	Verdict *VerdictFit
	// Fingerprints are those of the experts' question encoders, by name.
	Fingerprints map[string]string
	// Reading is what a reader is fitted with; nil: there is none.
	Reading *ReadingOptions
	// Reranking is what each reranker is fitted with.
	Reranking []RerankingOptions
	// Try returns an error if the collection cannot answer by a record.
	Try func(*Record) error
}

func (o *FitOptions) gate() GateOptions {
	return GateOptions{Specialists: o.Specialists, Towards: o.Towards, WithoutLate: o.WithoutLate}
}

// chanceDepths returns the numbers of passages whose chances are fitted.
func chanceDepths() []int { return []int{1, 5, 10, 20} }

// fitting is the state of a Fit.
type fitting struct {
	*Evidence
	options FitOptions
	record  *Record
	report  *FitReport
	others  map[string]fusion.Settings // of each question, by its id, fitted on other folds
	surest  map[string]CCEFit          // likewise; empty without granularities
	methods []method
}

// Fit fits in the order of dependence: the ensembles' temperatures, the sources' own
// chances, MUF's sharpness, the hybrid's weight, the gate, and the confidence of the gate's answers with so
// many specialists asked. The report is of held-out questions. The unanswerable questions
// count for the confidence alone. The prior counts if it was fitted for the same sources.
//
// "Auto" is the gate, or the best of the methods that are significantly better. A method
// that the collection cannot answer by is passed over, and the report says so. If it can
// answer by none, that is an error.
func Fit(ctx context.Context, e *Evidence, o FitOptions) (*Record, *FitReport, error) {
	f := &fitting{Evidence: e, options: o,
		record: &Record{Questions: e.domains, Specialists: o.Specialists},
		report: &FitReport{Questions: len(e.Questions), Specialists: o.Specialists}}
	if err := f.fit(ctx); err != nil {
		return nil, nil, err
	}
	err := f.choose()
	f.describe()
	return f.record, f.report, err
}

func (f *fitting) fit(ctx context.Context) error {
	temperatures, err := f.FitTemperatures(ctx)
	if err != nil {
		return err
	}
	f.ensembles(temperatures)
	if err := f.sources(); err != nil {
		return err
	}
	if err := f.settings(ctx); err != nil {
		return err
	}
	gates, answers, err := f.gate(ctx)
	if err != nil {
		return err
	}
	if err := f.chances(ctx, gates, answers); err != nil {
		return err
	}
	if err := f.informs(); err != nil {
		return err
	}
	return f.compare(answers)
}

// settings fits what methods other than the gate have, one number each.
func (f *fitting) settings(ctx context.Context) (err error) {
	var sharpness, alphas []float64
	f.record.Sharpness, sharpness, err = fitSharpness(ctx, f.Questions, sharpnesses())
	if err != nil {
		return err
	}
	if f.words() {
		f.record.Alpha, alphas, err = fitAlpha(ctx, f.Questions, sharpness, alphaGrid())
		if err != nil {
			return err
		}
	}
	var surest []CCEFit
	f.record.CCE, f.report.CCE, surest, err = f.FitCCE(ctx)
	if err != nil {
		return fmt.Errorf("the granularities: %w", err)
	}
	f.others, f.surest = map[string]fusion.Settings{}, map[string]CCEFit{}
	for i, q := range f.Questions {
		s := fusion.Settings{Sharpness: sharpness[i]}
		if alphas != nil {
			s.Alpha = alphas[i]
		}
		if surest != nil {
			s.CCE.Temperature = surest[i].Temperature
			f.surest[q.ID] = surest[i]
		}
		f.others[q.ID] = s
	}
	return nil
}

// words reports whether BM25 takes part, beside others.
func (f *fitting) words() bool {
	of := f.Questions[0].Sources
	return len(of) > 1 && slices.ContainsFunc(of, func(o fusion.Observed) bool { return o.Kind == fusion.Lexical })
}

// informs measures the AUROC of each method's confidence for its first passage.
func (f *fitting) informs() error {
	areas := map[string]float64{}
	if area := f.report.Chances[0].AUROC; area != nil {
		areas[fusion.MethodGate] = *area
	}
	for _, m := range fusion.Methods() {
		if m.Basis() != fusion.FromEnsembles {
			continue
		}
		answers, err := By(f.Questions, func(q *Question) (fusion.Ranking, error) {
			return m.Fuse(q.inputOf(m), f.others[q.ID], AnsweredDepth)
		})
		if err != nil {
			return err
		}
		var outcomes []Outcome
		for _, a := range answers {
			if a.Confidence != nil {
				outcomes = append(outcomes, Outcome{Confidence: *a.Confidence, Correct: a.First == 1})
			}
		}
		if area, ok := AUROC(outcomes); ok {
			areas[m.Name] = area
		}
	}
	if len(areas) > 0 {
		f.record.ConfidenceAUROC = areas
	}
	return nil
}

// FitTemperatures fits one for every expert that has an ensemble, by its column, and
// tells the questions how sure each expert is of them: by temperatures that were fitted
// on other questions.
func (e *Evidence) FitTemperatures(ctx context.Context) (map[int]temperatureFit, error) {
	fits := map[int]temperatureFit{}
	for column, name := range e.Sources {
		answers := make([]ensembleAnswer, len(e.Questions))
		members := 0
		for i := range e.Questions {
			answers[i] = e.Questions[i].ensemble(column)
			members = max(members, answers[i].members)
		}
		if members < 2 {
			continue
		}
		fit, err := fitTemperature(ctx, answers, temperatures())
		if err != nil {
			return nil, fmt.Errorf("the temperature of %s: %w", name, err)
		}
		fits[column] = fit
		for i := range e.Questions {
			e.Questions[i].Sources[column].Confidence = fit.confidences[i]
		}
		for _, q := range slices.Concat(e.Unanswerable, e.Nonsense, e.Subjects, e.Generated) {
			if own := q.ensemble(column); own.known() {
				q.Sources[column].Confidence, err = own.sure(fit.temperature)
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return fits, nil
}

func (f *fitting) ensembles(temperatures map[int]temperatureFit) {
	for _, column := range slices.Sorted(maps.Keys(temperatures)) {
		t, name := temperatures[column], f.Sources[column]
		f.record.Experts = append(f.record.Experts, ExpertRecord{Name: name, Fingerprint: f.options.Fingerprints[name],
			Temperature: t.temperature, Depth: EnsembleDepth, Before: t.before, After: t.after})
		if t.edge {
			f.report.Warnings = append(
				f.report.Warnings,
				fmt.Sprintf(
					"the temperature of %s, %.3g, is at an end of those that were tried:\nno temperature makes its confidence a probability; it may still tell right from wrong",
					name,
					t.temperature,
				),
			)
		}
		s := Summarise(t.heldOut)
		f.report.Ensembles = append(f.report.Ensembles, EnsembleReport{name, t.temperature, t.before, s.ECE, s.AUROC})
	}
}

// sources fits the chance that a source's own first hit answers.
func (f *fitting) sources() error {
	for column, name := range f.Sources {
		chance, err := fitSourceChance(f.Questions, column)
		if err != nil {
			return fmt.Errorf("the chances of %s: %w", name, err)
		}
		if len(chance.Outcomes) == 0 {
			continue // no words beside it
		}
		f.record.Sources = append(f.record.Sources, SourceRecord{Name: name, Fingerprint: f.options.Fingerprints[name],
			Kind: chance.Kind, Chance: chance.Confidence, ECE: chance.HeldOut.ECE, Reliability: Reliability(chance.Outcomes)})
		f.report.Sources = append(f.report.Sources, SourceReport{name, chance.HeldOut.ECE, chance.HeldOut.AUROC})
	}
	return nil
}

// gate fits the gate, and one for each fold to the others, by which the questions
// are answered.
func (f *fitting) gate(ctx context.Context) ([]fusion.Gate, []Answered, error) {
	gates, err := FoldGates(ctx, f.Questions, f.options.gate())
	if err != nil {
		return nil, nil, err
	}
	heldOut, err := AnswerByFold(gates, f.Questions, f.options.Specialists)
	if err != nil {
		return nil, nil, err
	}
	gate, err := FitGate(ctx, f.Questions, f.options.gate())
	if err != nil {
		return nil, nil, err
	}
	f.record.Gate = &gate
	if without := withoutLate(f.Questions); without != nil {
		gate, err := FitGate(ctx, without, f.options.gate())
		if err != nil {
			return nil, nil, fmt.Errorf("the gate without late interaction: %w", err)
		}
		f.record.GateWithoutLate = &gate
	}
	return gates, heldOut, nil
}

// chances fits the confidence of the answers that the gates of other folds gave:
// to the questions, to the same without their answers, and to unanswerable ones.
func (f *fitting) chances(ctx context.Context, gates []fusion.Gate, answers []Answered) error {
	ranked, err := RankAnswers(f.Questions, f.Beside, answers, gates, f.options.Specialists)
	if err != nil {
		return err
	}
	prior := f.options.Prior
	if !fusion.Closeness(f.Questions[0].Sources) {
		prior = nil
	}
	if err := f.verdict(ranked); err != nil {
		return err
	}
	f.record.Signals = fusion.SignalNames()
	for _, k := range chanceDepths() {
		all, err := judge(ranked, prior.For(k))
		var c ConfidenceFit
		if err == nil {
			c, err = FitConfidence(fusion.SignalNames(), all, k, prior.For(k))
		}
		if err != nil {
			return fmt.Errorf("the confidence of the first %d passages: %w", k, err)
		}
		f.record.Chances = append(f.record.Chances, c.Confidence)
		f.report.addChance(&c)
		if k == 1 {
			if err := f.reading(ctx, ranked, &c); err != nil {
				return err
			}
			if err := f.reranking(ctx, ranked, &c); err != nil {
				return err
			}
		}
	}
	f.record.Thresholds, f.record.Reliability = f.report.Thresholds, f.report.Chances[0].Reliability
	return nil
}

// mostRead is how many questions of a collection are read for, and how many of the
// unanswerable ones: more take long and change little.
const mostRead = 150

// mostJudged is how many of the judged ones are read for.
const mostJudged = 40

// reranking fits the weight of each reranker to some of the answers, evenly chosen.
func (f *fitting) reranking(ctx context.Context, ranked []RankedQuestion, by *ConfidenceFit) error {
	if len(f.options.Reranking) == 0 {
		return nil
	}
	every := make([]int, len(f.Questions))
	for i := range every {
		every[i] = i
	}
	some, sure, err := f.some(every, ranked, by)
	if err != nil {
		return err
	}
	var answers []RankedQuestion
	var confidences []float64
	for i, a := range some {
		if a.Without != Judged { // of a reranker nothing is shipped by which they could be judged
			answers, confidences = append(answers, a), append(confidences, sure[i])
		}
	}
	for _, o := range f.options.Reranking {
		fit, err := FitReranking(ctx, answers, confidences, o)
		if err != nil {
			return fmt.Errorf("the weight of the reranker %s: %w", o.Name, err)
		}
		f.record.Reranking = append(f.record.Reranking, *fit)
	}
	f.report.Reranking = f.record.Reranking
	return nil
}

// reading fits what the reader says of some of the answers, evenly chosen among those to
// questions whose words are known.
func (f *fitting) reading(ctx context.Context, ranked []RankedQuestion, by *ConfidenceFit) (err error) {
	var known []int
	for i, q := range f.Questions {
		if len(q.Answers) > 0 {
			known = append(known, i)
		}
	}
	if f.options.Reading == nil || len(known) == 0 {
		return nil
	}
	answers, confidences, err := f.some(known, ranked, by)
	if err != nil {
		return err
	}
	f.options.Reading.Verdict = f.options.Verdict
	f.record.Reading, err = FitReading(ctx, answers, confidences, *f.options.Reading)
	f.report.Reading = f.record.Reading
	return err
}

// some returns answers to some of the questions, evenly chosen among known, the same without the passages that answer,
// and those to some unanswerable and some judged ones, with their confidences.
func (f *fitting) some(
	known []int,
	ranked []RankedQuestion,
	by *ConfidenceFit,
) (some []RankedQuestion, sure []float64, err error) {
	take := func(at int) {
		some, sure = append(some, ranked[at]), append(sure, by.Outcomes[at].Confidence)
	}
	for i := range min(len(known), mostRead) {
		at := known[i*len(known)/min(len(known), mostRead)]
		take(at)
		take(len(f.Questions) + at)
	}
	for i, n := 0, len(f.Unanswerable); i < min(n, mostRead); i++ {
		take(2*len(f.Questions) + i*n/min(n, mostRead))
	}
	judged := slices.DeleteFunc(slices.Clone(ranked), func(a RankedQuestion) bool { return a.Without != Judged })
	for i := range min(len(judged), mostJudged) {
		a := judged[i*len(judged)/min(len(judged), mostJudged)]
		confidence, err := by.Confidence.Of(a.Signals)
		if err != nil {
			return nil, nil, err
		}
		some, sure = append(some, a), append(sure, confidence)
	}
	return some, sure, nil
}
