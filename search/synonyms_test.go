package search

import (
	"reflect"
	"testing"
)

// TestSynonyms: words stand for each other or one way, several words as a whole, whatever the case, and
// what a question has is not added.
func TestSynonyms(t *testing.T) {
	list := []Synonyms{
		{Words: []string{"laptop", "notebook", "portable computer"}},
		{From: []string{"NYC"}, To: []string{"New York City"}},
	}
	for question, want := range map[string]struct {
		words string
		used  []Used
	}{
		"which Laptop lasts": {"which Laptop lasts notebook portable computer",
			[]Used{{"Laptop", []string{"notebook", "portable computer"}}}},
		"a portable computer?":  {"a portable computer? laptop notebook", []Used{{"portable computer", []string{"laptop", "notebook"}}}},
		"a computer, portable":  {"a computer, portable", nil},
		"laptops":               {"laptops", nil},
		"hotels in nyc":         {"hotels in nyc New York City", []Used{{"nyc", []string{"New York City"}}}},
		"hotels, New York City": {"hotels, New York City", nil},
		"laptop or notebook":    {"laptop or notebook portable computer", []Used{{"laptop", []string{"portable computer"}}}},
	} {
		words, used := synonymous(question, list)
		if words != want.words || !reflect.DeepEqual(used, want.used) {
			t.Errorf("%s: %q %v, want %q %v", question, words, used, want.words, want.used)
		}
	}
	for _, wrong := range []Synonyms{{}, {Words: []string{"a"}}, {From: []string{"a"}}, {Words: []string{"a", " "}},
		{Words: []string{"a", "b"}, To: []string{"c"}}} {
		if wrong.Check() == "" {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// TestSynonymsOfACollection: the words' index is asked for synonyms, encoders for the question as it is, and
// the answer says which were used.
func TestSynonymsOfACollection(t *testing.T) {
	s := tagged("ab", 40)
	plain := s.ask(t, Request{Question: "zzz", Fusion: methodsOf("sum"), Experts: &[]string{}})
	s.config.Defaults.Synonyms = []Synonyms{{From: []string{"zzz"}, To: []string{"dog"}}}
	got := s.ask(t, Request{Question: "zzz", Fusion: methodsOf("sum"), Experts: &[]string{}})
	want := s.ask(t, Request{Question: "dog", Fusion: methodsOf("sum"), Experts: &[]string{}})
	if len(plain.Results) != 0 || len(want.Results) == 0 || len(got.Results) != len(want.Results) {
		t.Fatalf("%d, %d results, want %d", len(plain.Results), len(got.Results), len(want.Results))
	}
	if !reflect.DeepEqual(got.Synonyms, []Used{{"zzz", []string{"dog"}}}) || got.Question != "zzz" ||
		want.Synonyms != nil {
		t.Errorf("%+v", got.Synonyms)
	}
}
