package corpus

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// TestSampleKey: the upper half of what XXH3 gives by its specification (the first is the
// published hash of nothing), spread evenly over ids that are numbered.
func TestSampleKey(t *testing.T) {
	if got := SampleKey(""); got != 0x2d068005 {
		t.Errorf("%#x", got)
	}
	var quarters [4]int
	const n = 4000
	for i := range n {
		quarters[SampleKey(fmt.Sprintf("passage-%06d", i))>>30]++
	}
	for _, got := range quarters { // the deviation of each is 27
		if got < n/4-140 || got > n/4+140 {
			t.Errorf("%v of %d", quarters, n)
		}
	}
}

// TestStoreSample: the sample of a store are the passages whose keys come first, without some,
// and that of less is the beginning of that of more.
func TestStoreSample(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 8))
	for _, n := range []int{0, 3, 2 * pageEntries} {
		s, err := OpenStore(disk.OS{}, writeStore(t, randomPassages(random, n)))
		if err != nil {
			t.Fatal(err)
		}
		skip := func(o rank.Ordinal) bool { return o%3 == 1 }
		var want []SampledPassage
		for o := range rank.Ordinal(n) {
			id, err := s.ID(o)
			if err != nil {
				t.Fatal(err)
			}
			if !skip(o) {
				want = append(want, SampledPassage{SampleKey(id), o})
			}
		}
		slices.SortFunc(want, func(a, b SampledPassage) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Ordinal, b.Ordinal))
		})
		for _, many := range []int{0, 1, 128, n} {
			got, err := s.Sample(many, skip)
			if err != nil || !slices.Equal(got, want[:min(many, len(want))]) {
				t.Errorf("%d of %d: %v, %v", many, n, got, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
