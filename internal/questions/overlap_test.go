package questions

import (
	"strings"
	"testing"
)

func TestDisjoint(t *testing.T) {
	train := Domain{
		Path: "train.jsonl",
		Questions: []Question{
			{ID: "t1", Text: "Who wrote Hamlet?"},
			{ID: "t2", Text: "What is a prion"},
			{Text: "???"},
			{ID: "t4"},
			{ID: "t5", Text: "R\u00f6ntgen"},
		},
	}
	for _, c := range []struct {
		name     string
		question Question
		shared   bool
	}{
		{"another question", Question{ID: "d1", Text: "Who wrote Othello?"}, false},
		{"empty ids", Question{Text: "Who wrote Lear?"}, false},
		{"the same id", Question{ID: "t1", Text: "Who wrote Othello?"}, true},
		{"the same text", Question{ID: "d1", Text: "Who wrote Hamlet?"}, true},
		{"case, spaces and punctuation", Question{ID: "d1", Text: " who  wrote ‘HAMLET’"}, true},
		{"composed and decomposed letters", Question{ID: "d1", Text: "Ro\u0308ntgen"}, true},
		{"words run together", Question{ID: "d1", Text: "Whowrote Hamlet?"}, false},
		{"only punctuation, the same", Question{ID: "d1", Text: "??? "}, true},
		{"only punctuation, other", Question{ID: "d1", Text: "!"}, false},
		{"no text", Question{ID: "d1"}, false},
	} {
		apart := Domain{Path: "apart.jsonl", Questions: []Question{{ID: "d9", Text: "Nothing of the kind"}}}
		dev := Domain{Path: "dev.jsonl", Questions: []Question{{ID: "d0", Text: "Anything else"}, c.question}}
		err := Disjoint([]Domain{apart, train}, []Domain{{Path: "test.jsonl"}, dev})
		if (err != nil) != c.shared {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, part := range []string{"train.jsonl", "dev.jsonl", "share 1 ", c.question.Text} {
			if c.shared && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not name %q", c.name, err, part)
			}
		}
	}
}
