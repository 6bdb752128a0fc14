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

// Judgment says whether a passage answers a question.
type Judgment struct {
	Question string `json:"question"`
	Passage  string `json:"passage"` // its id
	// Grade is 1 where the passage answers and 0 where it does not; nil takes back what was said.
	Grade *int `json:"grade"`
	// Answer has the words that were shown as the answer, where these were judged.
	Answer string    `json:"answer,omitempty"`
	Judged time.Time `json:"judged"`
}

// about identifies what a judgment is about; a later one about the same counts.
type about struct{ question, passage string }

func (j *Judgment) about() about { return about{j.Question, j.Passage} }

// Question is a question with all that was judged of it, in the form of the JSON Lines by which
// collections are calibrated.
type Question struct {
	ID          string         `json:"id"`
	Text        string         `json:"question"`
	PositiveIDs []string       `json:"positive_ids,omitempty"` // passages that answer, by their ids
	Grades      map[string]int `json:"grades"`                 // of all judged passages
}

// Questions puts judgments about the same question together, in the order of the first of each.
// Ids are hashes of the questions, so that a question keeps its own.
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
		q := &out[n]
		q.Grades[j.Passage] = *j.Grade
		if *j.Grade > 0 {
			q.PositiveIDs = append(q.PositiveIDs, j.Passage)
		}
	}
	for i := range out {
		slices.Sort(out[i].PositiveIDs)
	}
	return out
}

// Answered counts the questions of which a passage is known that answers.
func Answered(all []Question) (n int) {
	for _, q := range all {
		if len(q.PositiveIDs) > 0 {
			n++
		}
	}
	return n
}

// WriteQuestions writes questions as JSON Lines.
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
