package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"example.org/conclave/calibration"
	"example.org/conclave/evaluation"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/judgments"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// From so many judgments, of so many questions with a passage that answers, something is learned.
const (
	leastJudged   = 10
	leastAnswered = 5
)

const (
	askedDepth   = 20  // of the passages that are looked at
	mostMissed   = 100 // questions that a report names
	askingStage  = "asking"
	questionUnit = "questions"
	// measuringTimeout is what the sources have for one question of a fit. It is long, so that a slow
	// machine does not change what is fitted.
	measuringTimeout = 30 * time.Second
)

// checkCalibrating returns a *jobs.Refusal if there are fewer than leastJudged judgments, or fewer than leastAnswered
// questions with a known answer.
func (s *collection) checkCalibrating(jobs.Request) error {
	all := s.judgments.All()
	if answered := judgments.Answered(judgments.Questions(all)); len(all) < leastJudged || answered < leastAnswered {
		return jobs.Refuse(
			"needs_judgments",
			"%d passages were judged, and of %d questions one that answers is known: calibrating takes at least %d and %d",
			len(all), answered, leastJudged, leastAnswered,
		)
	}
	return nil
}

// checkEvaluating returns a *jobs.Refusal if no passage was judged to answer a question.
func (s *collection) checkEvaluating(jobs.Request) error {
	if judgments.Answered(judgments.Questions(s.judgments.All())) == 0 {
		return jobs.Refuse("needs_judgments", "nothing can be measured: no passage was judged to answer a question")
	}
	return nil
}

// judgedQuestions returns the judged questions for which the collection still has a passage that answers. It fails if
// there is none.
func (s *collection) judgedQuestions(ctx context.Context) (questions.Domain, error) {
	var all []questions.Question
	passages, done := s.assembly.Passages(ctx)
	defer done()
	for _, q := range judgments.Questions(s.judgments.All()) {
		known := false
		for _, id := range q.PositiveIDs {
			_, ok, err := passages.Ordinal(id)
			if err != nil {
				return questions.Domain{}, err
			}
			known = known || ok
		}
		if !known {
			continue
		}
		grades := map[string]float64{}
		for id, grade := range q.Grades {
			grades[id] = float64(grade)
		}
		all = append(all, questions.Question{ID: q.ID, Text: q.Text, PositiveIDs: q.PositiveIDs, Grades: grades})
	}
	if len(all) == 0 {
		return questions.Domain{}, errors.New(
			"none of the passages that were judged to answer is in the collection any more",
		)
	}
	return questions.NewDomain("", all, 0), nil
}

// measureQuestions searches for each question with the collection's defaults. The result counts the questions whose
// first right answer is among the first 1, 5 and 20 hits, and lists the first mostMissed questions whose first hit is
// not right. It reports progress to t, and fails if a search does.
func (s *collection) measureQuestions(ctx context.Context, judged questions.Domain, t jobs.Task) (
	result jobs.MeasuredResult, err error) {
	result.Questions = len(judged.Questions)
	limits := s.assembly.Engine.Limits()
	for i, q := range judged.Questions {
		t.Report(
			jobs.Progress{Stage: askingStage, Done: int64(i), Total: int64(len(judged.Questions)), Unit: questionUnit},
		)
		found, err := s.assembly.Engine.Search(ctx, search.Caller{}, search.Request{
			Question: q.Text, K: min(askedDepth, limits.K), TimeoutMS: int(limits.Timeout.Milliseconds()), Fields: []string{},
		})
		if err != nil {
			return result, fmt.Errorf("asking %q: %w", q.Text, err)
		}
		first := firstOf(found.Results, &q)
		countRank(&result.Now, first)
		if first != 1 && len(result.Missed) < mostMissed {
			result.Missed = append(result.Missed, q.Text)
		}
	}
	return result, nil
}

// firstOf returns the rank of the first result that answers the question, itself or by a copy; 0 if none does.
func firstOf(results []reply.Result, q *questions.Question) int {
	grades := q.Judgements()
	for _, r := range results {
		if grades[r.ID] > 0 {
			return r.Rank
		}
		for _, other := range r.Copies {
			if grades[other] > 0 {
				return r.Rank
			}
		}
	}
	return 0
}

// countRank counts an answer at this rank in the shares that it belongs to: top 1, 5 and 20. Rank 0 counts in none.
func countRank(s *jobs.Share, rank int) {
	for most, n := range map[int]*int{1: &s.Top1, 5: &s.Top5, 20: &s.Top20} {
		if rank > 0 && rank <= most {
			*n++
		}
	}
}

// runEvaluation runs a job that measures how the collection answers its judged questions: with its settings, and, in
// the report, with every ranking method. It first waits until searches see all acknowledged writes. It fails if no
// judged answer is in the collection any more, or a search fails.
func (s *collection) runEvaluation(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if err := s.awaitVisible(ctx, t.Report); err != nil {
		return result, err
	}
	judged, err := s.judgedQuestions(ctx)
	if err != nil {
		return result, err
	}
	measured, err := s.measureQuestions(ctx, judged, t)
	if err != nil {
		return result, err
	}
	measured.Report, err = s.compareMethods(ctx, judged, t)
	result.Measured = &measured
	return result, err
}

// compareMethods measures every ranking method that the collection's sources allow, and, if t.Alone is set, each
// source alone. It returns the table as text. It fails if a search does or ctx ends.
func (s *collection) compareMethods(ctx context.Context, judged questions.Domain, t jobs.Task) (string, error) {
	engine := s.assembly.Engine
	limits := engine.Limits()
	lineup := evaluation.Lineup(s.assembly.Dense())
	methods, notes, err := lineup.Choose(ctx, engine, t.Alone, "all", nil, judged.Questions[0].Text, limits.Timeout)
	if err != nil {
		return "", err
	}
	generation, passages := engine.Generation()
	found, err := evaluation.Evaluate(ctx, engine, []questions.Domain{judged}, evaluation.MeasureOptions{
		Methods: methods, Notes: notes, Depth: min(limits.K, limits.Candidates, 100), Timeout: limits.Timeout,
		About: evaluation.About{
			Collection: s.config.Passages(), Generation: generation, Passages: passages, Experts: lineup,
			Settings: s.config.Search,
		},
		Progress: func(stage string, done, total int) {
			t.Report(jobs.Progress{Stage: "comparing", Done: int64(done), Total: int64(total), Unit: questionUnit})
		},
	})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = found.WriteText(&text)
	return text.String(), err
}

// runCalibration runs a job that fits a calibration to the judged questions and measures it, each question by a fit
// on others. It stores the calibration, unless the job is a dry run or the calibration answers fewer of the questions
// than the collection does now; the result then has a warning. It fails if no judged answer is in the collection any
// more, or a search or the fit fails.
func (s *collection) runCalibration(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if err := s.awaitVisible(ctx, t.Report); err != nil {
		return result, err
	}
	judged, err := s.judgedQuestions(ctx)
	if err != nil {
		return result, err
	}
	measured, err := s.measureQuestions(ctx, judged, t)
	if err != nil {
		return result, err
	}
	record, report, err := s.fitToJudged(ctx, judged, t)
	if err != nil {
		return result, err
	}
	calibrated := shareOf(report, record.Auto)
	measured.Calibrated = &calibrated
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		return result, err
	}
	measured.Report = text.String()
	result.Measured = &measured
	switch {
	case topSum(calibrated) < topSum(measured.Now):
		result.Warnings = []string{
			"The calibration answers fewer of the questions than the collection does as it is, and is not used.",
		}
	case !t.DryRun:
		record.Written = time.Now().UTC().Truncate(time.Second)
		if _, err := s.assembly.Calibrate(ctx, record); err != nil {
			return result, err
		}
		measured.Written = true
	}
	return result, nil
}

// topSum returns the number by which two shares of answers are compared in calibration: how many questions have an
// answer at rank 1, plus how many have one among the first 20.
func topSum(s jobs.Share) int { return s.Top1 + s.Top20 }

// shareOf returns how many of the held-out questions the ranking method auto answers, by a fit's report; zero if the
// report does not have the method.
func shareOf(report *calibration.FitReport, auto string) (s jobs.Share) {
	count := func(share float64) int { return int(math.Round(share * float64(report.Questions))) }
	for _, m := range report.Methods {
		if m.Method == auto {
			return jobs.Share{Top1: count(m.Top1), Top5: count(m.Top5), Top20: count(m.Top20)}
		}
	}
	return s
}

// fitToJudged fits a calibration to the judged questions, nonsense and generated questions, and returns it with its
// report. It uses an engine of its own, without the calibration in use, which goes on answering questions. Only the
// running job may call it, so that no other changes the experts meanwhile. It fails if a search or the fit does, or
// ctx ends.
func (s *collection) fitToJudged(ctx context.Context, judged questions.Domain, t jobs.Task) (
	record *calibration.Record, report *calibration.FitReport, err error) {
	config := s.config
	config.Limits.Timeout = max(config.Limits.Timeout, measuringTimeout)
	config.Limits.Candidates = max(config.Limits.Candidates, calibration.EnsembleDepth)
	s.mu.Lock()
	l, err := s.assembly.ForFitting(config)
	s.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	counting := func(stage string) func(done, total int) {
		return func(done, total int) {
			t.Report(jobs.Progress{Stage: stage, Done: int64(done), Total: int64(total), Unit: questionUnit})
		}
	}
	generated, err := l.GenerateQuestions(ctx)
	if err != nil {
		return nil, nil, err
	}
	passages, done := l.Passages(ctx)
	defer done()
	domains := []questions.Domain{judged, questions.Nonsense(), generated}
	found, err := calibration.Gather(ctx, l.Engine, passages, domains, measuringTimeout, counting(askingStage))
	if err != nil {
		return nil, nil, err
	}
	o, err := l.FitOptions(
		evaluation.Reading(l.Engine, l, counting("reading")), evaluation.Reranking(l.Engine, l, counting("reranking")),
	)
	if err != nil {
		return nil, nil, err
	}
	o.Specialists = askedSpecialists
	return calibration.Fit(ctx, found, o)
}

// askedSpecialists is how many specialists "auto" asks.
const askedSpecialists = 2
