package generators

import (
	"reflect"
	"slices"
	"testing"
)

// TestCheck: each sentence has the passages that it cites, how much of it stands there, and which of its
// numbers and names stand nowhere.
func TestCheck(t *testing.T) {
	for text, want := range map[string][]Sentence{
		"Its floor drops to 1,642 metres [1]. The nerpa lives there. [2][1]": {
			{Text: "Its floor drops to 1,642 metres", Passages: []int{0}, Support: 1, Supported: true},
			{Text: "The nerpa lives there.", Passages: []int{1, 0}, Support: 1, Supported: true},
		},
		"It drops to 2,000 metres [1, 2].": {{Text: "It drops to 2,000 metres", Passages: []int{0, 1}, Support: 2. / 3,
			Unfounded: []string{"2,000"}}},
		// The number stands in another passage than the one that is cited.
		"The nerpa lives in fresh water at 1,642 [2].": {{Text: "The nerpa lives in fresh water at 1,642",
			Passages: []int{1}, Support: 4. / 5}},
		"The seal in Geneva is kind [7].": {{Text: "The seal in Geneva is kind [7].", Unknown: []string{"7"},
			Unfounded: []string{"Geneva"}}},
		"The passages do not say so.": {{Text: "The passages do not say so.", Unchecked: NoAnswer}},
		"1. The nerpa lives [2].\n2. In water [2].": {
			{Text: "The nerpa lives", Passages: []int{1}, Support: 1, Supported: true},
			{Text: "In water", Passages: []int{1}, Support: 1, Supported: true},
		},
		// No citation, or that of another passage: the one that says it counts.
		"Its floor drops to 1,642 metres.": {{Text: "Its floor drops to 1,642 metres.", Passages: []int{0}, Support: 1,
			Supported: true, Attributed: true}},
		"The nerpa lives in water [1].": {{Text: "The nerpa lives in water", Passages: []int{1}, Support: 1,
			Supported: true, Attributed: true}},
		"As [1] says, the nerpa lives in fresh water.": {{Text: "As [1] says, the nerpa lives in fresh water.",
			Passages: []int{0}, Support: 0}},
		"Here is what it says:\n- The nerpa sings.": {
			{Text: "Here is what it says:", Unchecked: Introduction}, {Text: "The nerpa sings.", Support: 0},
		},
		"Ich weiß es leider nicht.": {{Text: "Ich weiß es leider nicht.", Unchecked: NoAnswer}},
		"No.":                       {{Text: "No."}},
		// Words that stand in every text say nothing, and the first word may be a name.
		"Geneva lives in it.": {{Text: "Geneva lives in it.", Support: 0}},
		"It is in the.":       {{Text: "It is in the.", Support: 0}},
		"":                    nil,
		"[1]":                 nil,
	} {
		got := Check("How deep is it?", text, lake)
		for i := range got {
			if len(got[i].Unknown) > 0 { // with the mark, or without
				got[i].Text = want[i].Text
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n%+v, want\n%+v", text, got, want)
		}
	}
}

// FuzzSentences: whatever a model writes, sentences lie in the text, one behind the other, and cite
// passages that are there.
func FuzzSentences(f *testing.F) {
	for _, text := range []string{"A [1]. B. [2] [3]", "[1][2]",
		"x[99999999999999999999]", "\xff[1]\n\n[2, 3;4]. \u2029", "a . [1]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range sentencesOf(text) {
			if s.begin < last || s.end <= s.begin || s.until < s.end || s.until > len(text) {
				t.Fatalf("%q: %+v behind %d", text, s, last)
			}
			last = s.until
		}
		for _, s := range Check("How deep is it?", text, lake) {
			if s.Support < 0 || s.Support > 1 ||
				slices.ContainsFunc(s.Passages, func(p int) bool { return p < 0 || p >= len(lake) }) {
				t.Fatalf("%q: %+v", text, s)
			}
		}
	})
}
