package folder_test

import (
	"testing"

	"example.org/conclave/store"
)

// TestUnlike: what nobody sets is like everything, and of what is set the first that
// differs is named with both values.
func TestUnlike(t *testing.T) {
	stored := store.Index{Kind: "hnsw", M: 16, EfConstruction: 200, Seed: 7}
	for _, c := range []struct {
		asked      store.Index
		property   string
		value, has any
	}{
		{store.Index{}, "", nil, nil},
		{stored, "", nil, nil},
		{store.Index{Kind: "flat", M: 8}, "kind", "flat", "hnsw"},
		{store.Index{Kind: "hnsw", M: 8}, "m", 8, 16},
		{store.Index{M: 16, EfConstruction: 100}, "ef_construction", 100, 200},
		{store.Index{Seed: 1}, "seed", uint64(1), uint64(7)},
	} {
		if property, value, has := c.asked.Unlike(stored); property != c.property || value != c.value || has != c.has {
			t.Errorf("%+v: %q, %v and %v", c.asked, property, value, has)
		}
	}
}
