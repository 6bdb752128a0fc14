package handlers

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/judgments"
	"example.org/conclave/internal/wording"
	"example.org/conclave/store"
)

// Judgments store what people say about passages as answers to their questions.
type Judgments interface {
	// Put stores a judgment, durably when it returns nil. It counts in the place of an earlier one on the same question
	// and passage.
	Put(judgments.Judgment) error
	// All returns the judgments that count, the oldest first.
	All() []judgments.Judgment
}

// judgmentBody is the body of POST /v1/judgments: whether a passage, or words of it, answer a question.
type judgmentBody struct {
	Question string `json:"question"`
	Passage  string `json:"passage"`
	Grade    *int   `json:"grade,omitempty"`
	Answer   string `json:"answer,omitempty"`
}

// checkTexts returns a problem if the question is empty, or question or answer have more than most bytes; else nil.
func (b *judgmentBody) checkTexts(most int) *schema.Problem {
	for _, text := range []struct {
		name, value string
		least       int
	}{{"question", strings.TrimSpace(b.Question), 1}, {"answer", b.Answer, 0}} {
		if n := len(text.value); n < text.least || n > most {
			return schema.NewProblem(
				"out_of_range",
				fmt.Sprintf("The %s has %d bytes; from %d to %d are taken.", text.name, n, text.least, most),
				schema.ProblemField{Pointer: "/" + text.name, Detail: fmt.Sprintf("has %d bytes", n)},
			)
		}
	}
	return nil
}

// JudgmentCounts is the answer of POST /v1/judgments.
type JudgmentCounts struct {
	Judged    int `json:"judged"`
	Questions int `json:"questions"`
	// Answered is of how many of the questions a passage is known that answers.
	Answered int `json:"answered"`
}

// JudgmentList is the answer of GET /v1/judgments.
type JudgmentList struct {
	JudgmentCounts
	Judgments []judgments.Judgment `json:"judgments"`
}

// calibrationBody asks for a calibration, and evaluationBody for an evaluation.
type (
	calibrationBody struct {
		DryRun bool `json:"dry_run,omitempty"`
	}
	evaluationBody struct {
		Alone bool `json:"alone,omitempty"`
	}
)

// judgmentStore returns the store of judgments. It returns a problem if the server only reads, the collection is still
// being opened, or its store keeps no judgments.
func (a *API) judgmentStore() (Judgments, error) {
	if _, err := a.changeWriter(); err != nil {
		return nil, err
	}
	if a.judgments == nil {
		elsewhere := &store.ElsewhereError{
			Instead: "this collection is in a store, and judgments are kept only for collections in folders: " +
				"keep them in your program, and calibrate with a file of them",
		}
		return nil, schema.NewProblem("no_such_path", schema.Sentence(elsewhere.Error()))
	}
	return a.judgments, nil
}

// countsOf returns the numbers of judgments by kind.
func countsOf(all []judgments.Judgment) JudgmentCounts {
	questions := judgments.Questions(all)
	return JudgmentCounts{Judged: len(all), Questions: len(questions), Answered: judgments.Answered(questions)}
}

// postJudgment answers POST /v1/judgments: it stores a judgment and returns the numbers of all that count now. A
// judgment without a grade takes an earlier one back. It returns a problem if the question is empty or too long, or
// there is no passage to judge that the caller may see.
func (a *API) postJudgment(c *call, body judgmentBody) (out JudgmentCounts, err error) {
	kept, err := a.judgmentStore()
	if err != nil {
		return out, err
	}
	engine, err := c.admittedEngine()
	if err != nil {
		return out, err
	}
	if p := body.checkTexts(engine.Limits().QuestionBytes); p != nil {
		return out, p
	}
	get, err := a.passageGetter(c, false) // of which nothing is answered
	if err != nil {
		return out, err
	}
	// What is taken back may be of a passage that has gone.
	if body.Grade != nil {
		_, _, ok, err := get(c.r.Context(), body.Passage)
		if err != nil {
			return out, err
		}
		if !ok {
			return out, schema.NewProblem("unknown_passage", fmt.Sprintf("There is no passage %s.", wording.Quote(body.Passage)))
		}
	}
	err = kept.Put(judgments.Judgment{
		Question: strings.TrimSpace(body.Question), Passage: body.Passage, Grade: body.Grade, Answer: body.Answer,
		Judged: a.options.Now().UTC(),
	})
	if err != nil {
		return out, storeProblem(err)
	}
	return countsOf(kept.All()), nil
}

// getJudgments answers GET /v1/judgments with all judgments that count, the oldest first, and their numbers. Its
// problems are those of judgmentStore.
func (a *API) getJudgments(_ *call, _ none) (list JudgmentList, err error) {
	kept, err := a.judgmentStore()
	if err != nil {
		return list, err
	}
	list.Judgments = kept.All()
	if list.Judgments == nil {
		list.Judgments = []judgments.Judgment{}
	}
	list.JudgmentCounts = countsOf(list.Judgments)
	return list, nil
}

// getJudgedQuestions answers GET /v1/judgments/questions with the judged questions as a file of JSON lines, as
// calibrations and evaluations read it. Its problems are those of judgmentStore, or it returns the context's error.
func (a *API) getJudgedQuestions(c *call) error {
	kept, err := a.judgmentStore()
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	err = c.compute(func() error { return judgments.WriteQuestions(&lines, judgments.Questions(kept.All())) })
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Disposition", `attachment; filename="questions.jsonl"`)
	return c.sendText(http.StatusOK, schema.TypeLines, lines.Bytes())
}

// postCalibration answers POST /v1/admin/calibrations: it starts a job that calibrates the collection (submitJob). Its
// problems are those of submitJob.
func (a *API) postCalibration(c *call, body calibrationBody) (jobs.Job, error) {
	return a.submitJob(c, jobs.Request{Kind: jobs.Calibrate, Name: "calibration", DryRun: body.DryRun})
}

// postEvaluation answers POST /v1/admin/evaluations: it starts a job that evaluates the collection (submitJob). Its
// problems are those of submitJob.
func (a *API) postEvaluation(c *call, body evaluationBody) (jobs.Job, error) {
	return a.submitJob(c, jobs.Request{Kind: jobs.Evaluate, Name: "evaluation", Alone: body.Alone})
}
