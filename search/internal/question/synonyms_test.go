package question

import (
	"reflect"
	"testing"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// TestSynonyms: words stand for each other or one way, several words as a whole, whatever the case, and
// what a question has is not added.
func TestSynonyms(t *testing.T) {
	list := []ask.Synonyms{
		{Words: []string{"laptop", "notebook", "portable computer"}},
		{From: []string{"NYC"}, To: []string{"New York City"}},
	}
	for question, want := range map[string]struct {
		words string
		used  []reply.Expansion
	}{
		"which Laptop lasts": {"which Laptop lasts notebook portable computer",
			[]reply.Expansion{{Word: "Laptop", As: []string{"notebook", "portable computer"}}}},
		"a portable computer?": {"a portable computer? laptop notebook", []reply.Expansion{{Word: "portable computer", As: []string{"laptop", "notebook"}}}},
		"a computer, portable": {"a computer, portable", nil},
		"laptops":              {"laptops", nil},
		"hotels in nyc": {"hotels in nyc New York City",
			[]reply.Expansion{{Word: "nyc", As: []string{"New York City"}}}},
		"hotels, New York City": {"hotels, New York City", nil},
		"laptop or notebook": {"laptop or notebook portable computer",
			[]reply.Expansion{{Word: "laptop", As: []string{"portable computer"}}}},
	} {
		words, used := AddSynonyms(question, list)
		if words != want.words || !reflect.DeepEqual(used, want.used) {
			t.Errorf("%s: %q %v, want %q %v", question, words, used, want.words, want.used)
		}
	}
	for _, wrong := range []ask.Synonyms{{}, {Words: []string{"a"}}, {From: []string{"a"}}, {Words: []string{"a", " "}},
		{Words: []string{"a", "b"}, To: []string{"c"}}} {
		if wrong.Check() == "" {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
