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

// FitOptions are the inputs of Fit besides the evidence.
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
	// Foreign takes the place of Prior and Verdict where the sources are those that it was fitted for; nil: there is
	// none.
	Foreign *ForeignPriors
	// Fingerprints are those of the experts' question encoders, by name.
	Fingerprints map[string]string
	// Reading is what a reader is fitted with; nil: there is none.
	Reading *ReadingOptions
	// Reranking is what each reranker is fitted with.
	Reranking []RerankingOptions
	// Try returns an error if the collection cannot answer by a record.
	Try func(*Record) error
}

// gateOptions returns the options for fitting the gate.
func (o *FitOptions) gateOptions() GateOptions {
	return GateOptions{Specialists: o.Specialists, Towards: o.Towards, WithoutLate: o.WithoutLate}
}

// chanceDepths returns the numbers of passages whose chances are fitted.
func chanceDepths() []int { return []int{1, 5, 10, 20} }

// fitRun is the state of one call of Fit.
type fitRun struct {
	*Evidence
	options FitOptions
	record  *Record
	report  *FitReport
	others  map[string]fusion.Settings // of each question, by its id, fitted on other folds
	surest  map[string]CCEFit          // likewise; empty without granularities
	methods []measuredMethod
}

// Fit returns the calibration of a collection, and a report of its figures on held-out questions. It fits, in this
// order, the ensembles' temperatures, the sources' own chances, MUF's sharpness, the hybrid's weight, the gate, and the
// confidence of the gate's answers. The unanswerable questions count only for the confidence. The prior counts if it
// was fitted for the same sources.
//
// "Auto" becomes the gate, or the best of the methods that are significantly better. A method by which the collection
// cannot answer is left out, which the report says. Fit fails if there is none.
//
// It sets the confidences of the experts in e's questions (FitTemperatures).
func Fit(ctx context.Context, e *Evidence, o FitOptions) (*Record, *FitReport, error) {
	f := &fitRun{Evidence: e, options: o,
		record: &Record{Questions: e.domains, Specialists: o.Specialists},
		report: &FitReport{Questions: len(e.Questions), Specialists: o.Specialists}}
	if err := f.fitAll(ctx); err != nil {
		return nil, nil, err
	}
	err := f.chooseAuto()
	f.describeMethods()
	return f.record, f.report, err
}

// fitAll fits everything, in the order that Fit describes. It fails as soon as one step does; f then has what the steps
// before fitted.
func (f *fitRun) fitAll(ctx context.Context) error {
	temperatures, err := f.FitTemperatures(ctx)
	if err != nil {
		return err
	}
	f.recordTemperatures(temperatures)
	if err := f.fitSources(); err != nil {
		return err
	}
	if err := f.fitSettings(ctx); err != nil {
		return err
	}
	gates, answers, err := f.fitGate(ctx)
	if err != nil {
		return err
	}
	if err := f.fitChances(ctx, gates, answers); err != nil {
		return err
	}
	if err := f.measureConfidences(); err != nil {
		return err
	}
	return f.compareMethods(answers)
}

// fitSettings fits the one number that each method other than the gate has: MUF's sharpness and the hybrid's weight. It
// fails if a fit does or ctx ends.
func (f *fitRun) fitSettings(ctx context.Context) (err error) {
	var sharpness, alphas []float64
	f.record.Sharpness, sharpness, err = fitSharpness(ctx, f.Questions, sharpnessGrid())
	if err != nil {
		return err
	}
	if f.hasWords() {
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

// hasWords reports whether the questions have BM25 as a source and at least one other source next to it.
func (f *fitRun) hasWords() bool {
	sources := f.Questions[0].Sources
	return len(sources) > 1 &&
		slices.ContainsFunc(sources, func(o fusion.ObservedSource) bool { return o.Kind == fusion.Lexical })
}

// measureConfidences records the AUROC of the confidence in the first passage: of the gate's, and of each method's
// whose confidence comes from the ensembles, by settings fitted on other folds. It leaves out methods whose answers are
// all right or all wrong, and fails if a method does.
func (f *fitRun) measureConfidences() error {
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

// FitTemperatures returns the temperature of every expert with an ensemble, by its column. It also sets each question's
// confidences of the experts, by temperatures that were fitted on the other folds. Experts without an ensemble of at
// least two members are left out. It fails if no question has two hits of an expert with one, or ctx ends.
func (e *Evidence) FitTemperatures(ctx context.Context) (map[int]temperatureFit, error) {
	fits := map[int]temperatureFit{}
	for column, name := range e.Sources {
		answers := make([]ensembleAnswer, len(e.Questions))
		members := 0
		for i := range e.Questions {
			answers[i] = e.Questions[i].ensembleOf(column)
			members = max(members, answers[i].members)
		}
		if members < 2 {
			continue
		}
		fit, err := fitTemperature(ctx, answers, temperatureGrid())
		if err != nil {
			return nil, fmt.Errorf("the temperature of %s: %w", name, err)
		}
		fits[column] = fit
		for i := range e.Questions {
			e.Questions[i].Sources[column].Confidence = fit.confidences[i]
		}
		for _, q := range slices.Concat(e.Unanswerable, e.Nonsense, e.Subjects, e.Generated) {
			if own := q.ensembleOf(column); own.hasConfidence() {
				q.Sources[column].Confidence, err = own.confidenceAt(fit.temperature)
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return fits, nil
}

// recordTemperatures adds the experts' temperatures to the record and the report.
func (f *fitRun) recordTemperatures(temperatures map[int]temperatureFit) {
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

// fitSources fits the chance that each source's own first hit answers. It fails if a fit does.
func (f *fitRun) fitSources() error {
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

// fitGate fits the gate and records it. It returns one gate for each fold, fitted on the others, and the questions'
// answers by these. It fails if no question has a passage that answers among its candidates, if the gate to begin with
// is invalid, or if ctx ends.
func (f *fitRun) fitGate(ctx context.Context) ([]fusion.Gate, []MethodAnswer, error) {
	gates, err := FoldGates(ctx, f.Questions, f.options.gateOptions())
	if err != nil {
		return nil, nil, err
	}
	heldOut, err := AnswerByFold(gates, f.Questions, f.options.Specialists)
	if err != nil {
		return nil, nil, err
	}
	gate, err := FitGate(ctx, f.Questions, f.options.gateOptions())
	if err != nil {
		return nil, nil, err
	}
	f.record.Gate = &gate
	if without := withoutLate(f.Questions); without != nil {
		gate, err := FitGate(ctx, without, f.options.gateOptions())
		if err != nil {
			return nil, nil, fmt.Errorf("the gate without late interaction: %w", err)
		}
		f.record.GateWithoutLate = &gate
	}
	return gates, heldOut, nil
}

// fitChances fits the confidence on the answers of fitGate: to the questions, to the same without the passages that
// answer, and to unanswerable ones. It fails if a fit does, or the reader or a reranker.
func (f *fitRun) fitChances(ctx context.Context, gates []fusion.Gate, answers []MethodAnswer) error {
	ranked, err := RankAnswers(f.Questions, f.BesideQuestions, answers, gates, f.options.Specialists)
	if err != nil {
		return err
	}
	shipped := f.options.fitsFor(f.Questions[0].Sources)
	if err := f.fitVerdict(ranked, shipped); err != nil {
		return err
	}
	ranked = shipped.withoutUnjudged(ranked)
	f.record.Signals = fusion.SignalNames()
	for _, k := range chanceDepths() {
		prior := shipped.prior.For(k)
		all, err := splitJudged(ranked, prior)
		var c ConfidenceFit
		if err == nil {
			c, err = FitConfidence(fusion.SignalNames(), all, k, prior)
		}
		if err != nil {
			return fmt.Errorf("the confidence of the first %d passages: %w", k, err)
		}
		f.record.Chances = append(f.record.Chances, c.Confidence)
		f.report.addChance(&c)
		if k == 1 {
			if err := f.fitReading(ctx, ranked, &c); err != nil {
				return err
			}
			if err := f.fitReranking(ctx, ranked, &c); err != nil {
				return err
			}
		}
	}
	f.record.Thresholds, f.record.Reliability = f.report.Thresholds, f.report.Chances[0].Reliability
	return nil
}

// mostRead is how many questions of a collection, and how many of the unanswerable ones, a reader and a reranker are
// fitted on: more take long and change little.
const mostRead = 150

// mostJudged is how many of the judged questions a reader and a reranker are fitted on.
const mostJudged = 40

// fitReranking fits the weight of each reranker on an evenly chosen sample of the answers, and records it. It fails if
// a reranker or a fit does, or ctx ends.
func (f *fitRun) fitReranking(ctx context.Context, ranked []RankedQuestion, by *ConfidenceFit) error {
	if len(f.options.Reranking) == 0 {
		return nil
	}
	every := make([]int, len(f.Questions))
	for i := range every {
		every[i] = i
	}
	some, sure, err := f.sampleAnswers(every, ranked, by)
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

// fitReading lets the reader read an evenly chosen sample of the questions whose answers are known in words, fits what
// its scores mean to these, and adds the fit to the record and the report. It does nothing without a reader, or without
// such questions. It fails if the reader or the fit does, or ctx ends.
func (f *fitRun) fitReading(ctx context.Context, ranked []RankedQuestion, by *ConfidenceFit) (err error) {
	var known []int
	for i, q := range f.Questions {
		if len(q.Answers) > 0 {
			known = append(known, i)
		}
	}
	if f.options.Reading == nil || len(known) == 0 {
		return nil
	}
	answers, confidences, err := f.sampleAnswers(known, ranked, by)
	if err != nil {
		return err
	}
	f.options.Reading.Verdict = f.options.Verdict
	f.record.Reading, err = FitReading(ctx, answers, confidences, *f.options.Reading)
	f.report.Reading = f.record.Reading
	return err
}

// sampleAnswers returns answers with their confidences: of an evenly chosen sample of the questions with these indexes
// (known), of the same without the passages that answer, of unanswerable and of judged questions. It fails if the
// confidence of a judged question cannot be computed.
func (f *fitRun) sampleAnswers(
	known []int,
	ranked []RankedQuestion,
	by *ConfidenceFit,
) (some []RankedQuestion, confidences []float64, err error) {
	take := func(at int) {
		some, confidences = append(some, ranked[at]), append(confidences, by.Outcomes[at].Confidence)
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
		some, confidences = append(some, a), append(confidences, confidence)
	}
	return some, confidences, nil
}
