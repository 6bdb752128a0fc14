package generation

import (
	"reflect"
	"strings"
	"testing"
)

// TestCheck: each sentence has the passages that it cites, how much of it stands there, and which of its
// numbers and names stand nowhere.
func TestCheck(t *testing.T) {
	for text, want := range map[string][]Sentence{
		"Its floor drops to 1,642 metres [1]. The nerpa lives there. [2][1]": {
			{Passages: []int{0}, Support: 1},
			{Passages: []int{1, 0}, Support: 1},
		},
		"It drops to 2,000 metres [1, 2].": {{Passages: []int{0, 1}, Support: 2. / 3, Unfounded: []string{"2,000"}}},
		"The seal in Geneva is kind [7].":  {{Unknown: []string{"7"}, Unfounded: []string{"Geneva"}}},
		"The passages do not say so.":      {{}},
		"":                                 nil,
		"[1]":                              nil,
	} {
		got := Check(text, lake)
		if len(got) != len(want) {
			t.Errorf("%q: %d sentences, want %d: %+v", text, len(got), len(want), got)
			continue
		}
		for i, s := range got {
			if s.Begin < 0 || s.End > len(text) || s.Begin >= s.End || strings.Contains(text[s.Begin:s.End], "[") {
				t.Errorf("%q: sentence %d is %q", text, i+1, text[s.Begin:s.End])
			}
			s.Begin, s.End = 0, 0
			if !reflect.DeepEqual(s, want[i]) {
				t.Errorf("%q: sentence %d is %+v, want %+v", text, i+1, s, want[i])
			}
		}
	}
}

// FuzzCheck: whatever a model writes, sentences lie in the text, one behind the other, and cite passages
// that are there.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"A [1]. B. [2] [3]", "[1][2]", "x[99999999999999999999]", "\xff[1]\n\n[2, 3;4]. \u2029", "a . [1]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range Check(text, lake) {
			if s.Begin < last || s.End <= s.Begin && strings.TrimSpace(text) == "" || s.End > len(text) {
				t.Fatalf("%q: a sentence from %d to %d behind %d", text, s.Begin, s.End, last)
			}
			last = s.End
			for _, p := range s.Passages {
				if p < 0 || p >= len(lake) {
					t.Fatalf("%q cites passage %d", text, p)
				}
			}
			if s.Support < 0 || s.Support > 1 {
				t.Fatalf("%q: support %v", text, s.Support)
			}
		}
	})
}
