package segmentfile

import (
	"reflect"
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// TestTombstonesFile: what was encoded is read again, each bit is where it belongs, and damage and a cut are seen.
func TestTombstonesFile(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 200} {
		want := Tombstones(nil).With(n, []rank.Ordinal{0, rank.Ordinal(n - 1), rank.Ordinal(n / 2)})
		data := want.Encode(n)
		got, err := DecodeTombstones(data, n, want.Count())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d: %v, %v", n, got, err)
		}
		alive := 0
		for o := range rank.Ordinal(64 * len(want)) {
			isAlive := want.Alive(n)[o/64]>>(o%64)&1 != 0
			if isAlive != (int(o) < n && !want.Has(o)) {
				t.Fatalf("%d: ordinal %d alive: %v", n, o, isAlive)
			}
			if isAlive {
				alive++
			}
		}
		if alive+want.Count() != n {
			t.Fatalf("%d: %d alive, %d dead", n, alive, want.Count())
		}
		for at := range data {
			damaged := slices.Clone(data)
			damaged[at] ^= 1 << (at % 8)
			if _, err := DecodeTombstones(damaged, n, want.Count()); err == nil {
				t.Fatalf("%d: byte %d flipped and not seen", n, at)
			}
			if _, err := DecodeTombstones(data[:at], n, want.Count()); err == nil {
				t.Fatalf("%d: cut to %d and not seen", n, at)
			}
		}
	}
}
