package main

import (
	"context"
	"fmt"
	"slices"

	"conclave/calibration"
	"conclave/fusion"
	"conclave/search"
)

// fit is everything that was fitted, with what it is worth on questions that
// it was not fitted on.
type fit struct {
	record       calibration.Record
	temperatures map[string]calibration.TemperatureFit
	methods      []methodFit
	chances      []calibration.ConfidenceFit
	sources      []sourceChance
	alphas       []float64 // of each question, fitted on other folds
}

// methodFit is a method with its answers to all questions.
type methodFit struct {
	name    string // for people
	method  string // that "auto" may stand for; "" for a yardstick
	answers []calibration.Answered
}

// chanceDepths are the numbers of passages whose chances are fitted.
func chanceDepths() []int { return []int{1, 5, 10, 20} }

// fitAll fits in the order in which one thing needs the other: temperatures,
// the sources' own chances,
// the hybrid's weight, the gate, and the confidence of what the gate answers
// when it asks so many specialists. The gate is pulled to the shipped one. The
// unanswerable questions count for the confidence alone, and the prior, where the
// sources are those that it was fitted for.
func fitAll(ctx context.Context, questions, unanswerable []asked, prior *calibration.Prior, fingerprints map[string]string, depth int, gate calibration.GateOptions, o calibration.AlphaOptions) (*fit, error) {
	f := &fit{}
	f.record.Specialists = gate.Specialists
	if err := f.fitTemperatures(ctx, questions, fingerprints, depth); err != nil {
		return nil, err
	}
	gated := f.gateQuestions(questions)
	if err := f.fitSources(ctx, questions, gated, fingerprints); err != nil {
		return nil, err
	}
	if err := f.fitAlpha(ctx, questions, gated, o); err != nil {
		return nil, err
	}
	gates, answers, err := f.fitGate(ctx, gated, gate)
	if err != nil {
		return nil, err
	}
	if err := f.fitChances(gated, f.newQuestions(unanswerable), gates, answers, prior); err != nil {
		return nil, err
	}
	return f, f.compare(gated)
}

// fitTemperatures fits one for every expert that has an ensemble.
func (f *fit) fitTemperatures(ctx context.Context, questions []asked, fingerprints map[string]string, depth int) error {
	f.temperatures = map[string]calibration.TemperatureFit{}
	sources := questions[0].evidence.Sources
	for n, s := range sources {
		if s.Members < 2 {
			continue
		}
		t, err := fitTemperature(ctx, questions, n)
		if err != nil {
			return fmt.Errorf("the temperature of %s: %w", s.Name, err)
		}
		f.temperatures[s.Name] = t
		f.record.Experts = append(f.record.Experts, calibration.ExpertRecord{Name: s.Name, Fingerprint: fingerprints[s.Name],
			Temperature: t.Temperature, Depth: depth, Before: t.Before.ECE, After: t.After.ECE})
	}
	return nil
}

func fitTemperature(ctx context.Context, questions []asked, source int) (calibration.TemperatureFit, error) {
	var ensemble []calibration.EnsembleQuestion
	for _, q := range questions {
		s := q.evidence.Sources[source]
		correct := len(s.Hits) > 0 && q.relevant[s.Hits[0].Ordinal] > 0
		ensemble = append(ensemble, calibration.EnsembleQuestion{ID: q.id, Scores: s.MemberScores, Members: s.Members, Correct: correct})
	}
	return calibration.FitTemperature(ctx, ensemble, calibration.TemperatureOptions{})
}

// gateQuestions turns the evidence into what gate and hybrid are fitted on,
// with confidences by temperatures that were fitted on other questions.
func (f *fit) gateQuestions(questions []asked) []calibration.GateQuestion {
	heldOut := map[string]map[string]float64{}
	for name, t := range f.temperatures {
		heldOut[name] = map[string]float64{}
		skipped, next := slices.Clone(t.Skipped), 0
		for _, q := range questions {
			if len(skipped) > 0 && skipped[0] == q.id {
				skipped = skipped[1:]
				continue
			}
			heldOut[name][q.id] = t.HeldOutOutcomes[next].Confidence
			next++
		}
	}
	return gateQuestionsBy(questions, func(q *asked, s *search.SourceEvidence) float64 {
		if c, ok := heldOut[s.Name][q.id]; ok {
			return c
		}
		return -1
	})
}

// newQuestions does that for questions that no temperature was fitted on.
func (f *fit) newQuestions(questions []asked) []calibration.GateQuestion {
	return gateQuestionsBy(questions, func(_ *asked, s *search.SourceEvidence) float64 {
		t, ok := f.temperatures[s.Name]
		if !ok || len(s.MemberScores) == 0 {
			return -1
		}
		information, err := fusion.MutualInformation(s.MemberScores, s.Members, t.Temperature)
		if err != nil {
			return -1
		}
		return fusion.Confidence(information, s.Members)
	})
}

// gateQuestionsBy turns evidence into observations; sure is how sure an expert is,
// below 0 where that is not known.
func gateQuestionsBy(questions []asked, sure func(q *asked, s *search.SourceEvidence) float64) []calibration.GateQuestion {
	out := make([]calibration.GateQuestion, len(questions))
	for i := range questions {
		q := &questions[i]
		out[i] = calibration.GateQuestion{ID: q.id, Table: q.evidence.Table, Relevant: q.relevant, Known: q.evidence.Known}
		for column := range q.evidence.Sources {
			s := &q.evidence.Sources[column]
			o := fusion.Observed{Column: column, Kind: fusion.Generalist, Confidence: sure(q, s), Familiarity: s.Familiarity, Ceiling: s.Ceiling, Random: s.Random}
			switch {
			case s.Lexical:
				o.Kind = fusion.Lexical
			case s.Phrases:
				o.Kind = fusion.Phrases
			case s.Late:
				o.Kind = fusion.Late
			case s.Specialist:
				o.Kind = fusion.Specialist
			case s.Base:
				o.Kind = fusion.Base
			}
			out[i].Sources = append(out[i].Sources, o)
		}
		fusion.Rivals(out[i].Sources)
	}
	return out
}

// fitAlpha finds BM25's weight beside MUF's score, where every expert is
// calibrated; else beside the first expert's, or leaves it.
func (f *fit) fitAlpha(ctx context.Context, questions []asked, gated []calibration.GateQuestion, o calibration.AlphaOptions) error {
	lexical := slices.IndexFunc(gated[0].Sources, func(o fusion.Observed) bool { return o.Kind == fusion.Lexical })
	if lexical < 0 || len(gated[0].Sources) < 2 {
		return nil
	}
	hybrid := make([]calibration.HybridQuestion, len(gated))
	for i, q := range gated {
		hybrid[i] = calibration.HybridQuestion{ID: q.ID, Domain: questions[i].domain, Table: q.Table, Relevant: q.Relevant,
			Experts: confidences(q.Sources), Lexical: lexical}
	}
	a, err := calibration.FitAlpha(ctx, hybrid, o)
	if err != nil {
		return fmt.Errorf("the hybrid's weight of BM25: %w", err)
	}
	f.record.Alpha, f.alphas = a.Alpha, a.Alphas
	return nil
}

// confidences are the dense sources weighted by how sure they are; all the same
// where one of them cannot say.
func confidences(sources []fusion.Observed) []fusion.Source {
	var out []fusion.Source
	known := true
	for _, s := range sources {
		if s.Kind.Dense() {
			out = append(out, fusion.Source{Column: s.Column, Weight: max(s.Confidence, 0)})
			known = known && s.Confidence >= 0
		}
	}
	for i := range out {
		if !known {
			out[i].Weight = 1
		}
	}
	return out
}

// fitGate fits the gate, and one for each fold to the others, by which the questions
// are answered.
func (f *fit) fitGate(ctx context.Context, questions []calibration.GateQuestion, o calibration.GateOptions) ([]fusion.Gate, []calibration.Answered, error) {
	gates, err := calibration.FoldGates(ctx, questions, o)
	if err != nil {
		return nil, nil, err
	}
	heldOut, err := calibration.AnswerByFold(gates, questions, o.Specialists)
	if err != nil {
		return nil, nil, err
	}
	gate, err := calibration.FitGate(ctx, questions, o)
	if err != nil {
		return nil, nil, err
	}
	f.record.Gate = &gate
	if without := calibration.WithoutLate(questions); without != nil {
		fit, err := calibration.FitGate(ctx, without, o)
		if err != nil {
			return nil, nil, fmt.Errorf("the gate without late interaction: %w", err)
		}
		f.record.GateWithoutLate = &fit
	}
	f.methods = append(f.methods, methodFit{"gate (fitted on other folds)", search.MethodGate, heldOut})
	return gates, heldOut, nil
}

// fitChances fits the confidence of the answers that the gates of other folds gave:
// to the questions, to the same without their answers, and to unanswerable ones.
func (f *fit) fitChances(questions, unanswerable []calibration.GateQuestion, gates []fusion.Gate, answers []calibration.Answered, prior *calibration.Prior) error {
	ranked, err := calibration.RankAnswers(questions, answers, gates, f.record.Specialists)
	if err != nil {
		return err
	}
	empty, err := calibration.AnswerByFold(gates, unanswerable, f.record.Specialists)
	if err != nil {
		return err
	}
	for i, a := range empty {
		ranked = append(ranked, calibration.RankedQuestion{ID: unanswerable[i].ID, Signals: a.Signals})
	}
	if !fusion.Closeness(questions[0].Sources) {
		prior = nil
	}
	f.record.Signals = fusion.SignalNames()
	for _, k := range chanceDepths() {
		c, err := calibration.FitConfidence(fusion.SignalNames(), ranked, k, prior.For(k))
		if err != nil {
			return fmt.Errorf("the confidence of the first %d passages: %w", k, err)
		}
		f.chances = append(f.chances, c)
		f.record.Chances = append(f.record.Chances, c.Confidence)
	}
	return nil
}

// compare measures beside the gate what needs no fitting, or a number only.
func (f *fit) compare(questions []calibration.GateQuestion) error {
	equal := func(q *calibration.GateQuestion) []fusion.Source {
		var out []fusion.Source
		for _, s := range q.Sources {
			if s.Kind != fusion.Phrases && s.Kind != fusion.Late { // the gate's alone
				out = append(out, fusion.Source{Column: s.Column, Weight: 1})
			}
		}
		return out
	}
	add := func(name, method string, by func(q *calibration.GateQuestion) (fusion.Ranking, error)) error {
		answers, err := calibration.By(questions, by)
		f.methods = append(f.methods, methodFit{name, method, answers})
		return err
	}
	lexical := slices.IndexFunc(questions[0].Sources, func(o fusion.Observed) bool { return o.Kind == fusion.Lexical })
	if lexical >= 0 && len(questions[0].Sources) > 1 {
		alphas := map[string]float64{} // by fold, which is that of the id
		for i, q := range questions {
			alphas[q.ID] = f.alphas[i]
		}
		err := add(fmt.Sprintf("hybrid, α %.4f (fitted on other folds)", f.record.Alpha), search.MethodHybrid, func(q *calibration.GateQuestion) (fusion.Ranking, error) {
			return fusion.Hybrid(q.Table, confidences(q.Sources), lexical, fusion.HybridOptions{Alpha: alphas[q.ID]}, calibration.AnsweredDepth)
		})
		if err != nil {
			return err
		}
	}
	for _, m := range []struct {
		name string
		by   func(q *calibration.GateQuestion) (fusion.Ranking, error)
	}{
		{search.MethodSum, func(q *calibration.GateQuestion) (fusion.Ranking, error) {
			return fusion.Sum(q.Table, equal(q), fusion.Options{Normalisation: fusion.ZScore}, calibration.AnsweredDepth)
		}},
		{search.MethodRRF, func(q *calibration.GateQuestion) (fusion.Ranking, error) {
			return fusion.RRF(q.Table, equal(q), calibration.AnsweredDepth)
		}},
	} {
		if err := add(m.name, m.name, m.by); err != nil {
			return err
		}
	}
	return nil
}
