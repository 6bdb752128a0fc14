package calibration

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// QuestionFile is a named set of questions, for comparing it with others.
type QuestionFile struct {
	Name      string
	Questions []QuestionKey
}

// QuestionKey is what a question is recognised by. An empty ID is not compared.
type QuestionKey struct{ ID, Text string }

// OverlapError says that two files share questions.
type OverlapError struct {
	First, Second string // names of the files
	Shared        int    // questions of the second that are also in the first
	ByID, ByText  int    // how many of them by the one, by the other; some by both
	// Example is the first of them, with the question of the first file.
	Example [2]QuestionKey
}

// Error names the files, the number, and one question.
func (e *OverlapError) Error() string {
	return fmt.Sprintf("%s and %s share %d questions (%d by id, %d by text), such as %s and %s: what is fitted on a question cannot be measured on it; take them out of one of the files",
		e.First, e.Second, e.Shared, e.ByID, e.ByText, e.Example[0], e.Example[1])
}

// String is the question for a message.
func (q QuestionKey) String() string { return fmt.Sprintf("%q (id %q)", q.Text, q.ID) }

// Disjoint refuses files of which two share a question, by its id or by its
// text, with an *OverlapError. Texts are the same when their letters, marks
// and digits are, whatever the case, the punctuation and the spaces.
func Disjoint(files ...QuestionFile) error {
	for i, second := range files {
		for _, first := range files[:i] {
			if e := overlap(first, second); e != nil {
				return e
			}
		}
	}
	return nil
}

func overlap(first, second QuestionFile) *OverlapError {
	ids, texts := map[string]int{}, map[string]int{}
	for i, q := range first.Questions {
		if _, seen := ids[q.ID]; !seen && q.ID != "" {
			ids[q.ID] = i
		}
		text := plain(q.Text)
		if _, seen := texts[text]; !seen && text != "" {
			texts[text] = i
		}
	}
	e := OverlapError{First: first.Name, Second: second.Name}
	for _, q := range second.Questions {
		at, byID := ids[q.ID]
		same, byText := texts[plain(q.Text)]
		if !byID && !byText {
			continue
		}
		if byID {
			e.ByID++
		}
		if byText {
			e.ByText++
			at = same
		}
		if e.Shared == 0 {
			e.Example = [2]QuestionKey{first.Questions[at], q}
		}
		e.Shared++
	}
	if e.Shared == 0 {
		return nil
	}
	return &e
}

// plain is a text reduced to what makes it the same question: words of
// letters, marks and digits in lower case. A text without any is kept.
func plain(text string) string {
	text = strings.ToLower(norm.NFKC.String(text))
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
	if len(words) == 0 {
		return strings.TrimSpace(text)
	}
	return strings.Join(words, " ")
}
