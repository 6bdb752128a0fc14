package folder

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// drawn keeps the sample of a generation.
type drawn struct {
	mu       sync.Mutex
	ordinals []rank.Ordinal
	asked    int // so many, or all there are
}

// Sample returns the n passages with the lowest keys, as corpus.SampleKey has them, without
// those that are deleted: all where there are fewer. The passages of n are the first of those of
// more.
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

func (g *Generation) draw(n int) ([]rank.Ordinal, error) {
	var all []corpus.Sampled
	for _, s := range g.segments {
		some, err := s.store.Sample(n, s.dead.Has)
		if err != nil {
			return nil, err
		}
		for _, x := range some {
			all = append(all, corpus.Sampled{Key: x.Key, Ordinal: s.base + x.Ordinal})
		}
	}
	var failed error
	slices.SortFunc(all, func(a, b corpus.Sampled) int {
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
