package bert

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// An int8 import learns the range of each layer's inputs from texts of random
// word pieces, of this number and these lengths, which it computes with the
// unquantised model. Random pieces give the same ranges, within a few per
// cent, as texts of any subject: what is large in a BERT is large in a few
// components, for all texts. (Measured on all-MiniLM-L6-v2: fidelity as good
// as with ranges from 2,255 tokens of encyclopedia and reviews.)
var sampleLengths = [...]int{4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64}

// sample is the hidden states of the sampled texts, each [tokens, dimension].
type sample struct{ texts [][]float32 }

// sample returns the embeddings of one random text for each of sampleLengths: each begins with the token cls, ends
// with sep, and is at most as long as the model reads. The texts are the same in every run. If computing them
// fails, b.Err is set, unless it is already, and the rows of that text are nil.
func (b *builder) sample(t tables, cls, sep int) *sample {
	source := rand.NewPCG(1, 2)
	s := &sample{}
	for _, length := range sampleLengths {
		length = min(length, b.c.Positions)
		ids := make([]int, length)
		for i := range ids {
			ids[i] = int(source.Uint64() % uint64(b.c.Vocabulary))
		}
		ids[0], ids[length-1] = cls, sep
		rows, err := t.forward(&b.c, ids, nil)
		if err != nil && b.Err == nil {
			b.Err = err
		}
		s.texts = append(s.texts, rows)
	}
	return s
}

// advanceLayer replaces the states in s by those behind the layer l, on all CPUs, and returns the ranges of two
// values in between: the attention's result and the feed-forward part's input.
func (s *sample) advanceLayer(c *Config, l block) (context, attended ranges) {
	all := make([]layerOutput, len(s.texts))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range slices.Backward(s.texts) { // the longest first
		group.Go(func() error {
			all[i] = c.forward(l, s.texts[i])
			return nil
		})
	}
	_ = group.Wait() // no text fails
	for i := range all {
		context.includeRows(all[i].context, c.Dimension)
		attended.includeRows(all[i].attended, c.Dimension)
		s.texts[i] = all[i].output
	}
	return context, attended
}

// currentRanges returns the ranges of the components of the states in s.
func (s *sample) currentRanges(dimension int) ranges {
	var r ranges
	for _, rows := range s.texts {
		r.includeRows(rows, dimension)
	}
	return r
}

// ranges are the smallest and the largest value of each component.
type ranges struct{ low, high []float32 }

// includeRows widens the ranges in r to the values in rows, [n, dimension]; an empty r gets theirs.
func (r *ranges) includeRows(rows []float32, dimension int) {
	if r.low == nil {
		r.low, r.high = make([]float32, dimension), make([]float32, dimension)
		for j := range dimension {
			r.low[j], r.high[j] = float32(math.Inf(1)), float32(math.Inf(-1))
		}
	}
	for i, v := range rows {
		j := i % dimension
		r.low[j], r.high[j] = min(r.low[j], v), max(r.high[j], v)
	}
}

// middleOf returns the middle of the range of each component, in new memory.
func (r ranges) middleOf() []float32 {
	m := make([]float32, len(r.low))
	for j := range m {
		m[j] = (r.low[j] + r.high[j]) / 2
	}
	return m
}

// distanceFrom returns, for each component, how far its range reaches from centre at most.
func (r ranges) distanceFrom(centre []float32) []float32 {
	a := make([]float32, len(r.low))
	for j := range a {
		a[j] = max(r.high[j]-centre[j], centre[j]-r.low[j])
	}
	return a
}
