// Package judgments keeps what people think of passages as answers to their questions: thumbs up and
// down. They are questions whose passages are known, by which a collection is calibrated and measured.
package judgments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Judgment is what a person says about a passage, or about words of it, as an answer to a question.
type Judgment struct {
	Question string `json:"question"`
	Passage  string `json:"passage"` // its id
	// Grade is 1 if the passage answers, or these words do, and 0 if not; nil takes back what was said.
	Grade *int `json:"grade"`
	// Answer has the words of the passage that are judged; "": the passage itself is.
	Answer string    `json:"answer,omitempty"`
	Judged time.Time `json:"judged"`
}

// subject identifies what a judgment is about. A later judgment with the same subject replaces it.
type subject struct{ question, passage, answer string }

// subject returns what the judgment is about: question, passage and, if words are judged, the words.
func (j *Judgment) subject() subject { return subject{j.Question, j.Passage, j.Answer} }

// Question is a question with all that was judged of it, in the form of the JSON Lines by which
// collections are calibrated.
type Question struct {
	ID          string         `json:"id"`
	Text        string         `json:"question"`
	PositiveIDs []string       `json:"positive_ids,omitempty"` // passages that answer, by their ids
	Grades      map[string]int `json:"grades"`                 // of all judged passages
	// Answers are words that answer, and WrongAnswers words that do not, though their passage may.
	Answers      []string `json:"answers,omitempty"`
	WrongAnswers []string `json:"wrong_answers,omitempty"`
}

// Questions returns the questions that judgments are about, in the order of the first judgment of each, with all their
// judgments. Words that answer show that their passage answers, unless the passage was judged by itself; words that do
// not answer show nothing about it. Ids are hashes of the questions, so that a question keeps its own.
func Questions(all []Judgment) []Question {
	var out []Question
	at := map[string]int{}
	for _, j := range all {
		if j.Grade == nil {
			continue
		}
		n, known := at[j.Question]
		if !known {
			n = len(out)
			at[j.Question] = n
			sum := sha256.Sum256([]byte(j.Question))
			out = append(out, Question{ID: hex.EncodeToString(sum[:8]), Text: j.Question, Grades: map[string]int{}})
		}
		out[n].add(&j)
	}
	for _, j := range all {
		if j.Grade != nil && j.Answer == "" {
			out[at[j.Question]].Grades[j.Passage] = *j.Grade
		}
	}
	for i := range out {
		for passage, grade := range out[i].Grades {
			if grade > 0 {
				out[i].PositiveIDs = append(out[i].PositiveIDs, passage)
			}
		}
		slices.Sort(out[i].PositiveIDs)
	}
	return out
}

// add adds a judgment of words, which must have a grade, to the question's answers or wrong answers. Words that
// answer also grade their passage. It ignores a judgment of a whole passage.
func (q *Question) add(j *Judgment) {
	switch {
	case j.Answer == "":
	case *j.Grade > 0:
		q.Grades[j.Passage] = *j.Grade
		q.Answers = append(q.Answers, j.Answer)
	default:
		q.WrongAnswers = append(q.WrongAnswers, j.Answer)
	}
}

// Answered returns the number of questions of which a passage that answers is known.
func Answered(all []Question) (n int) {
	for _, q := range all {
		if len(q.PositiveIDs) > 0 {
			n++
		}
	}
	return n
}

// WriteQuestions writes questions as JSON Lines, as questions.Read reads them. After an error some may be written.
func WriteQuestions(to io.Writer, all []Question) error {
	lines := json.NewEncoder(to)
	lines.SetEscapeHTML(false)
	for _, q := range all {
		if err := lines.Encode(q); err != nil {
			return fmt.Errorf("writing question %q: %w", q.Text, err)
		}
	}
	return nil
}
