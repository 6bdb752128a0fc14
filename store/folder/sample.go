package folder

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// drawn is the cached sample of a generation.
type drawn struct {
	mu       sync.Mutex
	ordinals []rank.Ordinal
	asked    int // so many, or all there are
}

// Sample returns n random live passages, always the same ones of a generation, or all if there are fewer. They are
// those with the lowest corpus.SampleKey, so a smaller sample is the beginning of a larger one. The result must not
// be changed. It fails if a file is damaged.
func (g *Generation) Sample(n int) ([]rank.Ordinal, error) {
	g.drawn.mu.Lock()
	defer g.drawn.mu.Unlock()
	if n > g.drawn.asked {
		drawn, err := g.draw(n)
		if err != nil {
			return nil, err
		}
		g.drawn.ordinals, g.drawn.asked = drawn, n
	}
	return g.drawn.ordinals[:min(n, len(g.drawn.ordinals))], nil
}

// draw returns the n live passages with the lowest sample keys, or all if there are fewer, in the order of keys and,
// where these are equal, of ids. It fails if a file is damaged.
func (g *Generation) draw(n int) ([]rank.Ordinal, error) {
	var all []corpus.SampledPassage
	for _, s := range g.segments {
		some, err := s.store.Sample(n, s.dead.Has)
		if err != nil {
			return nil, err
		}
		for _, x := range some {
			all = append(all, corpus.SampledPassage{Key: x.Key, Ordinal: s.base + x.Ordinal})
		}
	}
	var failed error
	slices.SortFunc(all, func(a, b corpus.SampledPassage) int {
		if a.Key != b.Key {
			return cmp.Compare(a.Key, b.Key)
		}
		order, err := g.compareIDs(a.Ordinal, b.Ordinal)
		failed = errors.Join(failed, err)
		return order
	})
	if failed != nil {
		return nil, failed
	}
	out := make([]rank.Ordinal, min(n, len(all)))
	for i := range out {
		out[i] = all[i].Ordinal
	}
	return out, nil
}
