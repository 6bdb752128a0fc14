package indexing

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/stores"
	"example.org/conclave/store"
)

// TestGranularExperts: granularities are of the first expert that is not late interaction,
// and a collection gets those that it lacks.
func TestGranularExperts(t *testing.T) {
	stored := func(names ...string) (has []store.Expert) {
		for _, name := range names {
			x := store.Expert{Name: name, Index: store.Index{Kind: ann.Flat}}
			if name == "late" {
				x.Index.Kind = ann.Late
			}
			has = append(has, x)
		}
		return has
	}
	for name, c := range map[string]struct {
		granularity []string
		has         []store.Expert
		asked       []string
		files       []corpus.Input
		want        []string
		refused     string
	}{
		"a new collection":           {granularity: []string{"1", "passage"}, asked: []string{"x", "y"}, want: []string{"x", "y", "x@1"}},
		"one that is there":          {granularity: []string{"1", "3-untitled", "passage"}, has: stored("late", "x", "x@1"), want: []string{"x@3-untitled"}},
		"whose first is of parts":    {granularity: []string{"1", "passage"}, has: stored("x@1"), want: []string{"x"}},
		"has them all":               {granularity: []string{"1"}, has: stored("x", "x@1"), refused: " has 1"},
		"words alone":                {granularity: []string{"1"}, refused: "no expert"},
		"late interaction alone":     {granularity: []string{"1"}, has: stored("late"), refused: "no expert"},
		"passages for what is there": {granularity: []string{"1"}, has: stored("x"), files: []corpus.Input{{Path: "f"}}, refused: "all experts"},
		"no granularity":             {granularity: []string{"few"}, asked: []string{"x"}, refused: `"few"`},
	} {
		o := Options{Granularities: c.granularity, Inputs: c.files}
		got, err := o.granularNames(c.has, c.asked)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q, %v", name, got, c.want, err)
		}
	}
}

// TestStoresHoldNoParts: an expert with a granularity is refused where a store is indexed.
func TestStoresHoldNoParts(t *testing.T) {
	at, err := stores.At(configs.Config{Store: "opensearch+http://localhost:9200/index"})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkParts(at, []string{"base", "health"}); err != nil {
		t.Error(err)
	}
	var refused *ExpertChoiceError
	if err := checkParts(at, []string{"base", "base@3"}); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "base@3 has a vector for each part") {
		t.Error(err)
	}
}
