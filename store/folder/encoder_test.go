package folder

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// hashEncoder is a passage encoder without a model: every word adds a vector
// drawn from its hash. Passages that share words are near each other, and the
// same text always has the same vector.
type hashEncoder struct {
	name      string
	dimension int
	version   int
	calls     int
	fail      func(call int) error
	parted    bool   // every two words that follow each other are a part
	owner     string // whose vectors it searches
}

func (e *hashEncoder) Name() string   { return e.name }
func (e *hashEncoder) Dimension() int { return e.dimension }
func (e *hashEncoder) Fingerprint() string {
	name := e.name
	if e.owner != "" {
		name = e.owner
	}
	return fmt.Sprintf("hash-%s-%d-%d", name, e.dimension, e.version)
}

func (e *hashEncoder) Late() bool { return false }

func (e *hashEncoder) Parts() func(string) []rank.Span {
	if !e.parted {
		return nil
	}
	return func(text string) (spans []rank.Span) {
		var begins []uint32 // of words, and the end
		for i := range text {
			if text[i] != ' ' && (i == 0 || text[i-1] == ' ') {
				begins = append(begins, uint32(i))
			}
		}
		begins = append(begins, uint32(len(text)))
		for i := 2; i < len(begins); i++ {
			spans = append(spans, rank.Span{Begin: begins[i-2], End: begins[i]})
		}
		return spans
	}
}

func (e *hashEncoder) Owner() string { return e.owner }

func (e *hashEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	e.calls++
	if e.fail != nil {
		if err := e.fail(e.calls); err != nil {
			return nil, err
		}
	}
	out := make([][]float32, len(passages))
	for i, p := range passages {
		out[i] = e.vector(p.Title + " " + p.Text)
	}
	return out, ctx.Err()
}

// vector returns the vector of a text, of half precision, so that indexes keep it.
func (e *hashEncoder) vector(text string) []float32 {
	sum := make([]float64, e.dimension)
	for word := range strings.FieldsSeq(text) {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, word, e.version)
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		for i := range sum {
			sum[i] += rng.NormFloat64()
		}
	}
	length := 0.0
	for _, v := range sum {
		length += v * v
	}
	out := make([]float32, len(sum))
	for i, v := range sum {
		out[i] = kernel.RoundHalf(float32(v / max(math.Sqrt(length), 1e-9))).Float()
	}
	return out
}

// vectorsOf returns the vectors of texts.
func (e *hashEncoder) vectorsOf(texts []string) (out [][]float32) {
	for _, text := range texts {
		out = append(out, e.vector(text))
	}
	return out
}

// list is a Source of given passages.
type list struct {
	name     string
	passages []corpus.Passage
	next     int
	err      error // at the end, instead of io.EOF
}

func (l *list) Next() (corpus.Passage, error) {
	if l.next == len(l.passages) {
		if l.err != nil {
			return corpus.Passage{}, l.err
		}
		return corpus.Passage{}, io.EOF
	}
	l.next++
	return l.passages[l.next-1], nil
}

func (l *list) Place() corpus.Place { return corpus.Place{File: l.name, Line: l.next} }

func (l *list) Progress() (int64, int64) { return int64(l.next), int64(len(l.passages)) }

func of(passages []corpus.Passage) *list { return &list{name: "list", passages: passages} }

// randomTags draws tags: common and rare ones, often none.
func randomTags(rng *rand.Rand) (tags []string) {
	for _, t := range []struct {
		tag   string
		share float64
	}{{"common", 0.5}, {"red", 0.2}, {"blue", 0.2}, {"rare", 0.01}} {
		if rng.Float64() < t.share {
			tags = append(tags, t.tag)
		}
	}
	return tags
}

// randomPassages draws passages of a small vocabulary, so that many share
// words and scores, with some that are equal but for their ids and tags. The
// ids are in no order.
func randomPassages(seed uint64, n int) []corpus.Passage {
	rng, tagging := rand.New(rand.NewPCG(seed, 2)), rand.New(rand.NewPCG(seed, 7))
	out := make([]corpus.Passage, n)
	for i := range out {
		if i > 0 && rng.IntN(5) == 0 {
			out[i] = out[rng.IntN(i)]
		} else {
			words := make([]string, 1+rng.IntN(8))
			for j := range words {
				words[j] = fmt.Sprintf("word%d", int(math.Abs(rng.NormFloat64()*12)))
			}
			out[i] = corpus.Passage{Title: fmt.Sprintf("title%d", rng.IntN(4)), Text: strings.Join(words, " ")}
		}
		out[i].ID = fmt.Sprintf("p%d", i)
		out[i].Tags = randomTags(tagging)
	}
	rng.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func byID(passages []corpus.Passage) []corpus.Passage {
	out := slices.Clone(passages)
	slices.SortFunc(out, func(a, b corpus.Passage) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// built makes a collection of the given parts, one segment each.
func built(t testing.TB, o store.BuildOptions, parts ...[]corpus.Passage) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	for i, part := range parts {
		make := Add
		if i == 0 {
			make = Build
		}
		if _, err := make(t.Context(), dir, of(part), o); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// keyed returns passages by their ids.
func keyed(passages []corpus.Passage) map[string]corpus.Passage {
	out := map[string]corpus.Passage{}
	for _, p := range passages {
		out[p.ID] = p
	}
	return out
}

// opened returns the newest generation of a collection, until the test ends.
func opened(t testing.TB, dir string) *Generation {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := c.Acquire()
	t.Cleanup(func() {
		g.Release()
		_ = c.Close()
	})
	return g
}

// split deals passages out to n parts at random.
func split(seed uint64, passages []corpus.Passage, n int) [][]corpus.Passage {
	rng := rand.New(rand.NewPCG(seed, 3))
	parts := make([][]corpus.Passage, n)
	for i, p := range passages {
		at := rng.IntN(n)
		if i < n {
			at = i // none is empty
		}
		parts[at] = append(parts[at], p)
	}
	return parts
}

var errTest = errors.New("the test's error")
