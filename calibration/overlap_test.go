package calibration

import (
	"errors"
	"strings"
	"testing"
)

func TestDisjoint(t *testing.T) {
	train := QuestionFile{"train.jsonl", []QuestionKey{{"t1", "Who wrote Hamlet?"}, {"t2", "What is a prion"}, {"", "???"}, {"t4", ""}}}
	for _, c := range []struct {
		name                 string
		question             QuestionKey
		shared, byID, byText int
	}{
		{"another question", QuestionKey{"d1", "Who wrote Othello?"}, 0, 0, 0},
		{"empty ids", QuestionKey{"", "Who wrote Lear?"}, 0, 0, 0},
		{"the same id", QuestionKey{"t1", "Who wrote Othello?"}, 1, 1, 0},
		{"the same text", QuestionKey{"d1", "Who wrote Hamlet?"}, 1, 0, 1},
		{"case, spaces and punctuation", QuestionKey{"d1", " who  wrote ‘HAMLET’"}, 1, 0, 1},
		{"both", QuestionKey{"t2", "What is a prion?"}, 1, 1, 1},
		{"words run together", QuestionKey{"d1", "Whowrote Hamlet?"}, 0, 0, 0},
		{"only punctuation, the same", QuestionKey{"d1", "??? "}, 1, 0, 1},
		{"only punctuation, other", QuestionKey{"d1", "!"}, 0, 0, 0},
		{"no text", QuestionKey{"d1", ""}, 0, 0, 0},
	} {
		err := Disjoint(train, QuestionFile{"empty.jsonl", nil}, QuestionFile{"dev.jsonl", []QuestionKey{{"d0", "Anything else"}, c.question}})
		var overlap *OverlapError
		if c.shared == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.As(err, &overlap) || overlap.Shared != c.shared || overlap.ByID != c.byID || overlap.ByText != c.byText {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, part := range []string{"train.jsonl", "dev.jsonl", c.question.Text} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not name %q", c.name, err, part)
			}
		}
	}
	// Composed and decomposed letters are the same; the second pair of files.
	err := Disjoint(QuestionFile{"a", nil}, QuestionFile{"b", []QuestionKey{{"1", "R\u00f6ntgen"}}}, QuestionFile{"c", []QuestionKey{{"2", "Ro\u0308ntgen"}}})
	var overlap *OverlapError
	if !errors.As(err, &overlap) || overlap.First != "b" || overlap.Second != "c" || overlap.Example[0].ID != "1" {
		t.Errorf("%v", err)
	}
}
