package fields

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/testing/anycondition"
)

func written(t *testing.T, metadata []map[string]any) string {
	t.Helper()
	b := NewBuilder()
	for _, m := range metadata {
		if err := b.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "fields")
	if err := b.Write(disk.OS{}, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// someIntervals returns intervals of all kinds, on fields that are there and that are not.
func someIntervals() map[string][]conditions.Interval {
	number := conditions.NumberKey
	return map[string][]conditions.Interval{
		"price": {
			{Kind: conditions.Numbers, Low: number(0), High: number(10)},
			{Kind: conditions.Words, From: "n/a", To: "n/a\x00"},
		},
		"colour": {
			{Kind: conditions.Words, From: "red"},
			{Kind: conditions.Words, From: "", To: "red"},
			{Kind: conditions.Words, From: "z", To: "a"},
		},
		"day":    {{Kind: conditions.Dates, High: math.MaxUint64}},
		"sold":   {{Kind: conditions.Bools, Low: 1, High: 1}},
		"nobody": {{Kind: conditions.Numbers, High: math.MaxUint64}},
	}
}

// TestMark: what is marked is what reading each passage's values marks, from a file and in memory.
func TestMark(t *testing.T) {
	const seed, n = 9, 300
	rng := rand.New(rand.NewPCG(seed, 0))
	var metadata []map[string]any
	for range n {
		metadata = append(metadata, anycondition.Metadata(rng))
	}
	x, err := Open(disk.OS{}, written(t, metadata))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Check(); err != nil || x.Passages() != n {
		t.Fatal(err, x.Passages())
	}
	for field, intervals := range someIntervals() {
		for _, in := range intervals {
			bits := make([]uint64, (n+63)/64)
			if err := x.Mark(field, in, bits); err != nil {
				t.Fatal(err)
			}
			for i, m := range metadata {
				want := false
				conditions.Each(m, func(d conditions.Datum) { want = want || d.Field == field && in.Has(d) })
				if got := bits[i/64]>>(i%64)&1 == 1; got != want {
					t.Errorf("%s %+v: passage %d, %v: %v", field, in, i, m[field], got)
				}
			}
		}
	}
}

// TestDamage: a file with any byte changed, or cut off anywhere, is refused or marks what it did before.
func TestDamage(t *testing.T) {
	const seed = 10
	rng := rand.New(rand.NewPCG(seed, 0))
	path := written(
		t,
		[]map[string]any{
			anycondition.Metadata(rng),
			{"price": 1.0},
			{"colour": "red", "day": "2024-05-01"},
			{"sold": true},
		},
	)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marks := func(data []byte) (out []uint64, err error) {
		x, err := newIndex("damaged", data)
		if err != nil {
			return nil, err
		}
		for _, field := range []string{"price", "colour", "day", "sold", "nobody"} {
			for _, in := range someIntervals()[field] {
				bits := make([]uint64, 1)
				if err := x.Mark(field, in, bits); err != nil {
					return nil, err
				}
				out = append(out, bits...)
			}
			bits := make([]uint64, 1)
			if err := x.MarkAll(field, bits); err != nil {
				return nil, err
			}
			out = append(out, bits...)
		}
		return out, x.Check()
	}
	want, err := marks(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if _, err := marks(whole[:i]); err == nil {
			t.Errorf("cut off at byte %d it is no error", i)
		}
		changed := slices.Clone(whole)
		changed[i] ^= 1 << (i % 8)
		if got, err := marks(changed); err == nil || got != nil && !slices.Equal(got, want) {
			t.Errorf("byte %d changed: %v, %v", i, got, err)
		}
	}
}
