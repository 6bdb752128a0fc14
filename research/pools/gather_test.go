package pools

import (
	"slices"
	"testing"

	"example.org/conclave/internal/rank"
)

// numbered are passages with the ordinals 0 to n-1, every seventh of them deleted.
type numbered struct {
	Passages
	n int
}

func (n numbered) Ordinals() int             { return n.n }
func (numbered) Deleted(o rank.Ordinal) bool { return o%7 == 0 }

func TestPoolOf(t *testing.T) {
	relevant := map[rank.Ordinal]float64{12: 1, 30: 2}
	var words []rank.Hit
	for o := range 15 {
		words = append(words, rank.Hit{Ordinal: rank.Ordinal(25 + o)}) // 30 among them
	}
	pool, err := poolOf("a question", relevant, words, numbered{n: 500})
	if err != nil {
		t.Fatal(err)
	}
	if want := []rank.Ordinal{12, 25, 26, 27, 28, 29, 31, 32, 33, 34}; !slices.Equal(pool[:10], want) {
		t.Errorf("the answer and what BM25 finds are %v, want %v", pool[:10], want)
	}
	seen := map[rank.Ordinal]bool{}
	for i, o := range pool {
		if seen[o] || i > 0 && relevant[o] > 0 || i >= 10 && o%7 == 0 || o >= 500 {
			t.Errorf("passage %d in place %d of %v", o, i, pool)
		}
		seen[o] = true
	}
	if len(pool) != 30 {
		t.Errorf("%d passages, want 30", len(pool))
	}
	again, _ := poolOf("a question", relevant, words, numbered{n: 500})
	other, _ := poolOf("another", relevant, words, numbered{n: 500})
	if !slices.Equal(pool, again) || slices.Equal(pool, other) {
		t.Errorf("%v, again %v, and for another question %v", pool, again, other)
	}
	if _, err := poolOf("a question", relevant, words, numbered{n: 50}); err == nil {
		t.Error("fifty passages are enough")
	}
}
