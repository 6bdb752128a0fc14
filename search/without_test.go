package search

import (
	"reflect"
	"slices"
	"testing"
)

// TestWithoutPassages: a search without passages has none of them, ranks the others as a plain sum of raw
// scores ranks them with all, and is the same search where nothing that is left out was found.
func TestWithoutPassages(t *testing.T) {
	s := newStage("ABCd", 60)
	request := Request{
		Question: askedOften, Fusion: methodsOf("sum"), Experts: &[]string{"A", "B"}, Normalisation: "raw",
		Missing: "exact", K: 20,
	}
	all := s.ask(t, request)
	if len(all.Results) < 6 {
		t.Fatalf("%d results", len(all.Results))
	}
	var want []string
	for i, x := range all.Results {
		if i == 0 || i == 3 {
			request.Without = append(request.Without, x.ID)
		} else {
			want = append(want, x.ID)
		}
	}
	request.Without = append(request.Without, "not there")
	var got []string
	for _, x := range s.ask(t, request).Results {
		got = append(got, x.ID)
	}
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("without %v: %v, want %v", request.Without, got, want)
	}
	request.Without = []string{"not there"}
	if again := s.ask(t, request); !reflect.DeepEqual(withoutTimes(again), withoutTimes(all)) {
		t.Errorf("%+v, want %+v", again, all)
	}
}
