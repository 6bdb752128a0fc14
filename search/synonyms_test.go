package search

import (
	"reflect"
	"testing"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// TestSynonymsOfACollection: the words' index is asked for synonyms, encoders for the question as it is, and
// the answer says which were used.
func TestSynonymsOfACollection(t *testing.T) {
	s := tagged("ab", 40)
	plain := s.ask(t, Request{Question: "zzz", Fusion: methodsOf("sum"), Experts: &[]string{}})
	s.config.Defaults.Synonyms = []ask.Synonyms{{From: []string{"zzz"}, To: []string{"dog"}}}
	got := s.ask(t, Request{Question: "zzz", Fusion: methodsOf("sum"), Experts: &[]string{}})
	want := s.ask(t, Request{Question: "dog", Fusion: methodsOf("sum"), Experts: &[]string{}})
	if len(plain.Results) != 0 || len(want.Results) == 0 || len(got.Results) != len(want.Results) {
		t.Fatalf("%d, %d results, want %d", len(plain.Results), len(got.Results), len(want.Results))
	}
	if !reflect.DeepEqual(got.Synonyms, []reply.Expansion{{Word: "zzz", As: []string{"dog"}}}) ||
		got.Question != "zzz" ||
		want.Synonyms != nil {
		t.Errorf("%+v", got.Synonyms)
	}
}
