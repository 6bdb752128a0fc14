package main

import (
	"context"
	"slices"
	"sync/atomic"

	"conclave/collection"
	"conclave/corpus"
	"conclave/serving"
)

// indexed is what a build made, and of how many passages each expert read
// only the beginning.
type indexed struct {
	collection.Report
	Truncated map[string]int64 `json:"truncated,omitempty"`
	reads     map[string]int   // tokens of a passage, by expert
}

// take takes over what was counted.
func (r *indexed) take(counted []*cutCounter) {
	r.Truncated, r.reads = map[string]int64{}, map[string]int{}
	for _, c := range counted {
		if n := c.cut.Load(); n > 0 {
			r.Truncated[c.Name()], r.reads[c.Name()] = n, c.Bundle.Manifest.MaxTokens.Passage
		}
	}
}

// cutCounter is an expert that counts the passages that are longer than it
// reads.
type cutCounter struct {
	*serving.Expert
	cut     atomic.Int64
	carried *cutCounter // of the expert whose vectors come with this one's; nil: nobody's
}

// countCut makes the experts of a build count.
func countCut(o *collection.BuildOptions) (counted []*cutCounter) {
	for i, x := range o.Experts {
		if e, ok := x.(*serving.Expert); ok {
			c := &cutCounter{Expert: e}
			o.Experts[i] = c
			counted = append(counted, c)
		}
	}
	for _, c := range counted {
		if at := slices.IndexFunc(counted, func(other *cutCounter) bool { return other.Name() == c.Carried() }); at >= 0 {
			c.carried = counted[at]
		}
	}
	return counted
}

// EncodePassages encodes passages through the bundle's template.
func (c *cutCounter) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	c.count(passages)
	return c.Expert.EncodePassages(ctx, passages)
}

// EncodePassagesBoth is EncodePassages of this expert and of the carried one.
func (c *cutCounter) EncodePassagesBoth(ctx context.Context, passages []corpus.Passage) (own, carried [][]float32, err error) {
	c.count(passages)
	if c.carried != nil {
		c.carried.count(passages)
	}
	return c.Expert.EncodePassagesBoth(ctx, passages)
}

func (c *cutCounter) count(passages []corpus.Passage) {
	for _, p := range passages {
		if c.CutsPassage(p) {
			c.cut.Add(1)
		}
	}
}
