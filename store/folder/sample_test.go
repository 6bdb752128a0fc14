package folder

import (
	"cmp"
	"slices"
	"testing"

	"example.org/conclave/internal/corpus"
)

// sameSample compares the sample of a generation with the first of all ids by their keys.
func sameSample(t *testing.T, name string, g *Generation, ids []string) {
	t.Helper()
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(corpus.SampleKey(a), corpus.SampleKey(b)), cmp.Compare(a, b))
	})
	for _, n := range []int{5, 128, 3} {
		sample, err := g.Sample(n)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(sample))
		for i, o := range sample {
			got[i], err = g.ID(o)
			if err != nil {
				t.Fatal(err)
			}
		}
		if want := ids[:min(n, len(ids))]; !slices.Equal(got, want) {
			t.Fatalf("%s: the sample of %d is %v, want %v", name, n, got, want)
		}
	}
}
