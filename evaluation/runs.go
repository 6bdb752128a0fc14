package evaluation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"conclave/search"
)

// Run is what one method answered to a set of questions.
type Run struct {
	Name    string
	Answers []Answer
}

// Answer is a ranking for one question, best first.
type Answer struct {
	Question   Question
	Confidence *float64
	Results    []search.Result
}

// WriteTREC writes a run in TREC's format: question id, "Q0", passage id,
// rank, score with 6 decimals, name of the run.
func WriteTREC(out io.Writer, run Run) error {
	w := bufio.NewWriter(out)
	for _, a := range run.Answers {
		for i, r := range a.Results {
			if _, err := fmt.Fprintf(w, "%s Q0 %s %d %.6f %s\n", a.Question.ID, r.ID, i+1, r.Score, run.Name); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// dprAnswer is a line of DPR's result file; its scores are strings.
type dprAnswer struct {
	Question   string       `json:"question"`
	Answers    []string     `json:"answers"`
	Contexts   []dprContext `json:"ctxs"`
	Confidence *float64     `json:"confidence,omitempty"`
}

type dprContext struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Text      string `json:"text"`
	Score     string `json:"score"`
	HasAnswer bool   `json:"has_answer"`
}

// WriteDPR writes a run as DPR's retrieval result, with MUF's "confidence" at
// the level of the question.
func WriteDPR(out io.Writer, run Run) error {
	all := make([]dprAnswer, 0, len(run.Answers))
	for _, a := range run.Answers {
		line := dprAnswer{Question: a.Question.Text, Answers: a.Question.Answers, Confidence: a.Confidence, Contexts: []dprContext{}}
		if line.Answers == nil {
			line.Answers = []string{}
		}
		var matcher Matcher
		if len(line.Answers) > 0 {
			m, err := StringAnswers(line.Answers)
			if err != nil {
				return fmt.Errorf("question %s: %w", a.Question.ID, err)
			}
			matcher = m
		}
		for _, r := range a.Results {
			line.Contexts = append(line.Contexts, dprContext{
				ID: r.ID, Title: r.Title, Text: r.Text,
				Score:     strconv.FormatFloat(r.Score, 'g', -1, 64),
				HasAnswer: matcher != nil && matcher.In(r.Text),
			})
		}
		all = append(all, line)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "    ")
	return encoder.Encode(all)
}
