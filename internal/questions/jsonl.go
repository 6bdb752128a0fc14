package questions

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// questionLine is a line of a JSON Lines file. Other fields are ignored.
type questionLine struct {
	ID          name               `json:"id"`
	Text        string             `json:"question"`
	Messages    []message          `json:"messages"` // in the place of a question
	Answers     []string           `json:"answers"`
	Answer      []string           `json:"answer"` // DPR's JSON Lines have the singular
	PositiveIDs []name             `json:"positive_ids"`
	Grades      map[string]float64 `json:"grades"`
	Domain      string             `json:"domain"`
}

// message is a message of a conversation, as chat programs write it.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// questionAndEarlier returns the question of a line, and the earlier messages of its user, oldest first: of
// messages the last one of the user is the question. It fails if there are both a question and messages, or no
// message of the user. A line without both has the question "".
func (w *questionLine) questionAndEarlier() (question string, before []string, err error) {
	if len(w.Messages) == 0 {
		return w.Text, nil, nil
	}
	if w.Text != "" {
		return "", nil, errors.New("there is a question beside them: leave out one of the two")
	}
	for _, m := range w.Messages {
		if m.Role == "user" && strings.TrimSpace(m.Content) != "" {
			before = append(before, m.Content)
		}
	}
	if len(before) == 0 {
		return "", nil, errors.New("none of them is of the user and says something")
	}
	last := len(before) - 1
	return before[last], before[:last], nil
}

// name is an id in JSON: a text or, as ids of passages may be, a whole number.
type name string

// UnmarshalJSON reads a text, or a whole number as it is written. It implements json.Unmarshaler. It returns a
// *json.UnmarshalTypeError for anything else.
func (n *name) UnmarshalJSON(data []byte) error {
	if c := data[0]; c == '-' || c >= '0' && c <= '9' {
		if strings.ContainsAny(string(data), ".eE") {
			return &json.UnmarshalTypeError{Value: "number " + string(data), Type: reflect.TypeFor[name]()}
		}
		*n = name(data)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return &json.UnmarshalTypeError{Value: kindOf(data), Type: reflect.TypeFor[name]()}
	}
	*n = name(text)
	return nil
}

// kindOf returns the kind of a JSON value for an error message, such as "object"; the value itself if it is a number, a
// text or null.
func kindOf(data []byte) string {
	switch data[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	}
	return string(data)
}

// readJSONL reads the questions of a JSON Lines file. A question without an id gets the number of its line.
//
// Passages with a grade of 0 or less are not relevant, even if positive_ids names them. Questions without any
// relevant passage and without answers are left out and counted in leftOut, unless the line says that nothing
// answers them ("positive_ids": []). The error names the line and field: a line that is no such object, a question
// without a text, an id that occurs twice.
func readJSONL(path string) (out []Question, leftOut int, err error) {
	seen := map[string]int{}
	err = eachLine(path, func(line int, text []byte) error {
		var w questionLine
		if err := decodeLine(path, line, text, &w); err != nil {
			return err
		}
		asked, before, err := w.questionAndEarlier()
		if err != nil {
			return fileError(path, line, "messages", "%w", err)
		}
		q := Question{
			ID:          string(w.ID),
			Text:        asked,
			Before:      before,
			Answers:     append(w.Answers, w.Answer...),
			PositiveIDs: namesOf(w.PositiveIDs),
			Grades:      w.Grades,
			Domain:      w.Domain,
			Place:       fmt.Sprintf("%s line %d", path, line),
		}
		q.Unanswerable = w.PositiveIDs != nil && len(w.PositiveIDs)+len(q.Answers)+Judgements(q.Grades).Relevant() == 0
		if q.ID == "" {
			q.ID = fmt.Sprint(line)
		}
		if field, err := q.checkFields(); err != nil {
			return fileError(path, line, field, "%w", err)
		}
		if first, twice := seen[q.ID]; twice {
			return fileError(path, line, "id", "%q is that of line %d already", q.ID, first)
		}
		seen[q.ID] = line
		if q.joinGrades(); q.Judgements().Relevant()+len(q.Answers) == 0 && !q.Unanswerable {
			leftOut++
			return nil
		}
		out = append(out, q)
		return nil
	})
	return out, leftOut, err
}

// joinGrades makes PositiveIDs and Grades agree: a positive passage without a grade gets grade 1, and one with a grade
// of 0 or less is removed from PositiveIDs. It does nothing without grades.
func (q *Question) joinGrades() {
	if len(q.Grades) == 0 {
		return
	}
	for _, id := range q.PositiveIDs {
		if _, ok := q.Grades[id]; !ok {
			q.Grades[id] = 1
		}
	}
	q.PositiveIDs = slices.DeleteFunc(q.PositiveIDs, func(id string) bool { return q.Grades[id] <= 0 })
}

// namesOf returns ids as strings; nil for nil, and an empty list for an empty one.
func namesOf(list []name) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = string(n)
	}
	return out
}

// checkFields returns the first error of a question that was read from JSON Lines, and the field that has it; nil
// and "" if there is none.
func (q *Question) checkFields() (field string, err error) {
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
	}
	if len(q.PositiveIDs)+len(q.Grades)+len(q.Answers) == 0 && !q.Unanswerable {
		return "positive_ids", errors.New(
			"there are neither positive_ids nor grades nor answers, so nothing can be measured; a question that nothing answers says so: \"positive_ids\": []",
		)
	}
	return "", nil
}

// decodeLine decodes one line of JSON into into. Its error names the file, the line, the field and what is expected
// there.
func decodeLine(path string, line int, text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fileError(
			path, line, kind.Field, "a %s stands where %s is expected", kind.Value, typeInWords(kind.Type.String()),
		)
	}
	if err != nil {
		return fileError(path, line, "", "it is not one JSON object: %w", err)
	}
	return nil
}

// typeInWords returns words for the type of a field of questionLine, for error messages.
func typeInWords(kind string) string {
	switch {
	case kind == "[]questions.name":
		return "a list of ids"
	case kind == "[]questions.message":
		return "a list of messages"
	case strings.HasPrefix(kind, "[]"):
		return "a list of texts"
	case strings.HasPrefix(kind, "map"):
		return "an object from passage ids to numbers"
	case kind == "float64" || kind == "int":
		return "a number"
	case kind == "string":
		return "a text"
	case kind == "questions.name":
		return "a text or a whole number"
	}
	return "an object"
}
