package generation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// chain is a stepper whose next logits depend on all tokens before. It keeps what each
// row has read, as a decoder does.
type chain struct {
	vocabulary, seed int
	rows             [][]int32
}

func (c *chain) Step(_ context.Context, tokens []int32, from []int) (logits, shares [][]float32, err error) {
	var next [][]int32
	for i, token := range tokens {
		var before []int32
		if c.rows != nil {
			before = c.rows[from[i]]
		}
		row := append(slices.Clone(before), token)
		next = append(next, row)
		logits = append(logits, c.after(row))
		share := float32(token) / float32(c.vocabulary)
		shares = append(shares, []float32{share, 1 - share})
	}
	c.rows = next
	return logits, shares, nil
}

func (c *chain) after(row []int32) []float32 {
	key := uint64(c.seed)
	for _, t := range row {
		key = key*1_000_003 + uint64(t) + 1
	}
	draw := rand.New(rand.NewPCG(key, 1))
	out := make([]float32, c.vocabulary)
	for i := range out {
		out[i] = float32(draw.NormFloat64())
	}
	return out
}

// probability returns the logarithm of that of tokens after the start.
func (c *chain) probability(start int32, tokens []int32) float64 {
	sum := 0.0
	row := []int32{start}
	for _, t := range tokens {
		logits := c.after(row)
		total := 0.0
		for _, x := range logits {
			total += math.Exp(float64(x))
		}
		sum += float64(logits[t]) - math.Log(total)
		row = append(row, t)
	}
	return sum
}

// TestWideBeamIsExhaustive: with more beams than there are answers the search finds the
// one that is best for its length.
func TestWideBeamIsExhaustive(t *testing.T) {
	const vocabulary, longest, end = 4, 3, 1
	var all [][]int32
	var extend func(row []int32)
	extend = func(row []int32) {
		for token := range int32(vocabulary) {
			next := append(slices.Clone(row), token)
			if token == end || len(next) == longest {
				all = append(all, next)
			} else {
				extend(next)
			}
		}
	}
	extend(nil)
	for seed := range 50 {
		c := &chain{vocabulary: vocabulary, seed: seed}
		want := slices.MaxFunc(all, func(a, b []int32) int {
			if c.probability(0, a)/float64(len(a)) < c.probability(0, b)/float64(len(b)) {
				return -1
			}
			return 1
		})
		got, err := Generate(t.Context(), c, Options{Start: 0, End: end, MaxTokens: longest, Beams: len(all)})
		if err != nil {
			t.Fatal(err)
		}
		tokens := slices.Clone(got.Tokens)
		if got.Complete {
			tokens = append(tokens, end)
		}
		if !slices.Equal(tokens, want) || math.Abs(got.LogProbability-c.probability(0, want)) > 1e-9 {
			t.Errorf("seed %d: %v of %g, not %v of %g", seed, tokens, got.LogProbability, want, c.probability(0, want))
		}
		// The first token that is read is the start, whose share is 0.
		share := 0.0
		for i := range tokens[1:] {
			share += float64(float32(tokens[i])/vocabulary) / float64(len(tokens))
		}
		if math.Abs(got.Shares[0]-share) > 1e-6 || math.Abs(got.Shares[0]+got.Shares[1]-1) > 1e-6 {
			t.Errorf("seed %d: shares %v, not %g of the first", seed, got.Shares, share)
		}
	}
}

// TestGreedy takes the likeliest token each time and tells each.
func TestGreedy(t *testing.T) {
	complete := 0
	for seed := range 50 {
		c := &chain{vocabulary: 5, seed: seed}
		var want []int32
		row := []int32{2}
		for len(want) < 6 {
			logits := c.after(row)
			token := int32(slices.Index(logits, slices.Max(logits)))
			if token == 1 {
				break
			}
			want, row = append(want, token), append(row, token)
		}
		var said []string
		got, err := Generate(
			t.Context(),
			c,
			Options{
				Start:     2,
				End:       1,
				MaxTokens: 6,
				Beams:     1,
				Each:      func(tokens []int32) { said = append(said, fmt.Sprint(tokens)) },
			},
		)
		if err != nil || !slices.Equal(got.Tokens, want) || got.Complete != (len(want) < 6) {
			t.Errorf("seed %d: %+v, not %v (%v)", seed, got, want, err)
		}
		if got.Complete {
			complete++
		}
		if len(said) != len(want) || len(want) > 0 && said[len(said)-1] != fmt.Sprint(want) {
			t.Errorf("seed %d: %v said of %v", seed, said, want)
		}
	}
	if complete == 0 || complete == 50 {
		t.Errorf("%d of 50 answers ended by themselves", complete)
	}
}

type broken struct{ err error }

func (b broken) Step(context.Context, []int32, []int) (logits, shares [][]float32, err error) {
	return [][]float32{{0, float32(math.NaN())}}, [][]float32{{1}}, b.err
}

func TestErrors(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		s    Stepper
		o    Options
		want string
	}{
		{broken{failed}, Options{MaxTokens: 2, Beams: 1}, "failed"},
		{broken{}, Options{MaxTokens: 2, Beams: 3}, "not a number"},
		{broken{}, Options{MaxTokens: 0, Beams: 1}, "0 tokens"},
		{broken{}, Options{MaxTokens: 1, Beams: 0}, "0 beams"},
	} {
		if _, err := Generate(t.Context(), c.s, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
