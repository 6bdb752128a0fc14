package encoder

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tiny"
)

func passages(tb testing.TB, e *Encoder, texts ...Text) [][]float32 {
	tb.Helper()
	vectors, err := e.EncodePassages(context.Background(), texts)
	if err != nil {
		tb.Fatal(err)
	}
	return vectors
}

// forTokens cuts what a late expert gives into its vectors.
func forTokens(flat []float32, dimension int) [][]float32 {
	return slices.Collect(slices.Chunk(flat, dimension))
}

// A question's vectors are a passage's, each as long as its token's share; of
// both there is one for each token between [CLS] and [SEP].
func TestLateQuestionsAndPassages(t *testing.T) {
	const d = 16
	r := library(t)
	for _, int8 := range []bool{false, true} {
		e := open(t, r, bundle(t, tiny.Expert{Late: d, Int8: int8}), Running{})
		if !e.Late() || e.Dimension() != d {
			t.Fatalf("late %t, %d numbers", e.Late(), e.Dimension())
		}
		random := rand.New(rand.NewPCG(1, 8))
		alike := 0
		for i := range 40 {
			text := someQuestion(random, i%20)
			ids, err := e.tokenizer.Encode(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			flat := question(t, e, text)
			asked, indexed := forTokens(flat, d), forTokens(passages(t, e, Text{Text: text})[0], d)
			if len(flat) != (len(ids)-2)*d || len(indexed) != len(asked) {
				t.Fatalf("%d tokens, %d numbers for the question and %d vectors for the passage", len(ids), len(flat), len(indexed))
			}
			sum, least, most := 0.0, 1.0, 0.0
			for j := range asked {
				share := vectorLength(asked[j])
				sum = sum + share
				least = min(least, share)
				most = max(most, share)
				if n := vectorLength(indexed[j]); math.Abs(n-1) > 1e-5 {
					t.Errorf("%q: the passage's vector %d has length %g", text, j, n)
				}
				for k, x := range indexed[j] {
					if diff := math.Abs(float64(x)*share - float64(asked[j][k])); diff > 1e-5 {
						t.Fatalf("%q: vector %d points elsewhere in the question, by %g", text, j, diff)
					}
				}
			}
			if math.Abs(sum-1) > 1e-5 {
				t.Errorf("%q: the lengths add up to %g", text, sum)
			}
			if len(asked) > 4 && most < 1.2*least {
				alike++
			}
		}
		if alike > 0 {
			t.Errorf("the tokens of %d questions weigh alike: the test shows little", alike)
		}
	}
}

// Of what the graph gives, the first and last token are left out and the
// shares are those of the rest; titles stand before.
func TestLateTokensAreTheGraphs(t *testing.T) {
	const d = 8
	e := open(t, library(t), bundle(t, tiny.Expert{Late: d, Template: models.TemplatePair}), Running{})
	text := Text{Title: "the river", Text: "a good story of water"}
	ids, err := e.passageTokens(text, 256)
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := e.model.passage.encodeRows(t.Context(), [][]int32{ids, make([]int32, 99)})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows[0]) != len(ids)*(d+1) || len(rows[1]) != 99*(d+1) {
		t.Fatalf("%d and %d numbers for %d and 99 tokens", len(rows[0]), len(rows[1]), len(ids))
	}
	got := passages(t, e, text)[0]
	total := 0.0
	for i := 1; i < len(ids)-1; i++ { // the [SEP] behind the title stays
		row := rows[0][i*(d+1) : (i+1)*(d+1)]
		if far := furthest(row[:d], got[(i-1)*d:i*d]); far > 1e-6 {
			t.Errorf("token %d: %g apart", i, far)
		}
		total += float64(row[d])
	}
	if len(got) != (len(ids)-2)*d {
		t.Errorf("%d numbers for %d tokens", len(got), len(ids))
	}
	asked := forTokens(importanceRows(rows[0], d), d)
	for i := range asked {
		if want := float64(rows[0][(i+1)*(d+1)+d]) / total; math.Abs(vectorLength(asked[i])-want) > 1e-6 {
			t.Errorf("token %d: share %g, not %g", i, vectorLength(asked[i]), want)
		}
	}
}

// A text of no tokens is its two special ones, one that is too long loses its
// end, and importances that rounding has made 0 weigh alike.
func TestLateTextsAtTheLimits(t *testing.T) {
	const d = 8
	e := open(
		t,
		library(t),
		bundle(t, tiny.Expert{Late: d, MaxTokens: models.MaxTokens{Question: 9, Passage: 14}}),
		Running{},
	)
	for text, want := range map[string][2]int{"": {2, 2}, " \x00": {2, 2}, "story": {1, 1},
		strings.Repeat("story ", 100): {7, 12}} {
		flat := question(t, e, text)
		if n := len(passages(t, e, Text{Text: text})[0]); len(flat) != want[0]*d || n != want[1]*d {
			t.Errorf("%.10q: %d and %d numbers", text, len(flat), n)
		}
		sum := 0.0
		for _, vector := range forTokens(flat, d) {
			sum += vectorLength(vector)
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("%.10q: the lengths add up to %g", text, sum)
		}
	}
	if got := importanceRows([]float32{1, 0, 0, 0, 1, 0}, 2); !slices.Equal(got, []float32{0.5, 0, 0, 0.5}) {
		t.Errorf("tokens of no importance: %v", got)
	}
}

// The cache keeps what callers got, however long, and within its numbers.
func TestLateCache(t *testing.T) {
	const d = 8
	e := open(t, library(t), bundle(t, tiny.Expert{Late: d}), Running{CacheEntries: 2})
	short := "a story"
	long := strings.Repeat("water ", 30)
	first := question(t, e, short)
	kept := slices.Clone(first)
	first[0] = 99 // must not reach the cache
	if again := question(t, e, short); !slices.Equal(again, kept) {
		t.Errorf("from the cache %v, before %v", again, kept)
	}
	if s := e.Stats(); s.Hits != 1 || s.Cached != 1 || s.QuestionRows != 1 {
		t.Errorf("stats %+v", s)
	}
	// Two questions of 16 tokens may be kept: one of 30 leaves room for 2.
	question(t, e, long)
	if s := e.Stats(); s.Cached != 2 {
		t.Errorf("%d vectors are cached, not 2", s.Cached)
	}
	question(t, e, "a story of the sea")
	if s := e.Stats(); s.Cached != 1 {
		t.Errorf("%d vectors are cached, not 1: they have too many numbers", s.Cached)
	}
	if plain := open(t, e.runtime, bundle(t, tiny.Expert{}), Running{}); plain.Late() {
		t.Error("a dense expert is late")
	}
}

// A graph that does not do what a late expert's must is found when it is
// opened.
func TestLateOpenErrors(t *testing.T) {
	r := library(t)
	for name, c := range map[string]struct {
		spoil func(t *testing.T, b *models.Bundle)
		want  string
	}{
		"dense": {func(_ *testing.T, b *models.Bundle) { b.Manifest.Kind = models.KindDense }, "encoder.onnx"},
		"wider": {func(_ *testing.T, b *models.Bundle) { b.Manifest.Vectors.Dimension = 12 }, "encoder.onnx"},
		"raw length": {func(t *testing.T, b *models.Bundle) {
			constantTokens(t, b, []float32{1, 1, 0, 0, 1})
		}, "of length 1.41"},
		"no importance": {func(t *testing.T, b *models.Bundle) {
			constantTokens(t, b, []float32{0.6, 0.8, 0, 0, 0})
		}, "importance of 0"},
		"not a number": {func(t *testing.T, b *models.Bundle) {
			constantTokens(t, b, []float32{1, 0, 0, 0, float32(math.NaN())})
		}, "NaN"},
	} {
		b := bundle(t, tiny.Expert{Name: "spoilt", Late: 4})
		c.spoil(t, b)
		e, err := r.Open(b, Running{})
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "spoilt") {
			t.Errorf("%s: %v, want an error that names %q", name, err, c.want)
		}
	}
	// And one that does is taken.
	b := bundle(t, tiny.Expert{Late: 4})
	constantTokens(t, b, []float32{0.6, 0, 0, -0.8, 3})
	got := question(t, open(t, r, b, Running{}), "a story")
	if furthest(got, []float32{0.3, 0, 0, -0.4, 0.3, 0, 0, -0.4}) > 1e-7 {
		t.Errorf("got %v", got)
	}
}

// constantTokens gives the bundle a graph that has the same numbers for every
// token and no vector for the text.
func constantTokens(t *testing.T, b *models.Bundle, row []float32) {
	t.Helper()
	for _, g := range []*models.Graph{&b.Manifest.Vectors.Question, &b.Manifest.Vectors.Passage} {
		g.Pooled, g.PooledDimension = "", 0
	}
	axes := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	width := len(row)
	g := &onnx.Graph{
		Name:         "constant",
		Initialisers: []*onnx.Tensor{onnx.Floats("row", row, 1, 1, width), onnx.Ints("width", []int64{int64(width)}, 1)},
		Outputs:      []*onnx.Value{onnx.NewValue("tokens", onnx.Float, append(axes[:2:2], onnx.Fixed(width))...)},
	}
	for _, name := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		g.Inputs = append(g.Inputs, onnx.NewValue(name, onnx.Int64, axes...))
	}
	g.Add("Shape", "shape", []string{"input_ids"})
	g.Add("Concat", "whole", []string{"shape", "width"}, onnx.Int("axis", 0))
	g.Add("Expand", "tokens", []string{"row", "whole"})
	model := onnx.New("test", 17, g)
	file, err := os.Create(b.Path("encoder.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(model.Write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
}
