package questions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// written is a line of JSON Lines. Other fields are passed over.
type written struct {
	ID          string             `json:"id"`
	Text        string             `json:"question"`
	Answers     []string           `json:"answers"`
	Answer      []string           `json:"answer"` // DPR's JSON Lines have the singular
	PositiveIDs []string           `json:"positive_ids"`
	Grades      map[string]float64 `json:"grades"`
	Domain      string             `json:"domain"`
}

// readJSONL reads JSON Lines. A question without an id gets the number of its
// line.
func readJSONL(path string) ([]Question, error) {
	var out []Question
	seen := map[string]int{}
	err := eachLine(path, func(line int, text []byte) error {
		var w written
		if err := decodeLine(path, line, text, &w); err != nil {
			return err
		}
		q := Question{ID: w.ID, Text: w.Text, Answers: append(w.Answers, w.Answer...), PositiveIDs: w.PositiveIDs, Grades: w.Grades,
			Domain: w.Domain, Place: fmt.Sprintf("%s line %d", path, line)}
		q.Unanswerable = w.PositiveIDs != nil && len(w.PositiveIDs)+len(q.Grades)+len(q.Answers) == 0
		if q.ID == "" {
			q.ID = fmt.Sprint(line)
		}
		if field, err := q.check(); err != nil {
			return fault(path, line, field, "%w", err)
		}
		if first, twice := seen[q.ID]; twice {
			return fault(path, line, "id", "%q is that of line %d already", q.ID, first)
		}
		seen[q.ID] = line
		out = append(out, q)
		return nil
	})
	return out, err
}

// check finds what a question of JSON Lines may not be, and in which field.
func (q *Question) check() (field string, err error) {
	if strings.TrimSpace(q.Text) == "" {
		return "question", errors.New("there is no text")
	}
	if strings.ContainsAny(q.ID, " \t\r\n") {
		return "id", fmt.Errorf("%q has white space in it, which TREC's run files cannot hold", q.ID)
	}
	for _, id := range q.PositiveIDs {
		if id == "" {
			return "positive_ids", errors.New("one of them is empty")
		}
		if len(q.Grades) > 0 && q.Grades[id] <= 0 {
			return "grades", fmt.Errorf("passage %q is among the positive_ids, but its grade is %v", id, q.Grades[id])
		}
	}
	if q.Judgements().Relevant() == 0 && len(q.Answers) == 0 && !q.Unanswerable {
		return "positive_ids", errors.New("there are neither positive_ids nor grades above 0 nor answers, so nothing can be measured; a question that nothing answers says so: \"positive_ids\": []")
	}
	return "", nil
}

// decodeLine decodes one line of JSON and says what is wrong for people.
func decodeLine(path string, line int, text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fault(path, line, kind.Field, "a %s stands where %s is expected", kind.Value, expected(kind.Type.String()))
	}
	if err != nil {
		return fault(path, line, "", "it is not one JSON object: %w", err)
	}
	return nil
}

// expected says a Go type in words.
func expected(kind string) string {
	switch {
	case strings.HasPrefix(kind, "[]"):
		return "a list of texts"
	case strings.HasPrefix(kind, "map"):
		return "an object from passage ids to numbers"
	case kind == "float64" || kind == "int":
		return "a number"
	case kind == "string":
		return "a text"
	}
	return "an object"
}
