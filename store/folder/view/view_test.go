package view

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// compass is an expert of two dimensions: passage i of 40 points i/40 of the
// way round.
type compass struct{}

func (compass) Name() string        { return "compass" }
func (compass) Dimension() int      { return 2 }
func (compass) Fingerprint() string { return "compass" }

func (compass) Late() bool { return false }

func (compass) Parts() func(string) []rank.Span { return nil }

func (compass) Owner() string { return "" }

func (compass) EncodePassages(_ context.Context, passages []corpus.Passage) ([][]float32, error) {
	out := make([][]float32, len(passages))
	for i, p := range passages {
		n, err := strconv.Atoi(strings.TrimPrefix(p.ID, "p"))
		if err != nil {
			return nil, err
		}
		sin, cos := math.Sincos(2 * math.Pi * float64(n) / 40)
		out[i] = []float32{float32(cos), float32(sin)}
	}
	return out, nil
}

// windmills returns a collection of 40 passages, p00 to p39, in order. Passage i has
// the tags by(i mod 4) and of(i mod 5).
func windmills(t *testing.T) *folder.Collection {
	t.Helper()
	return windmillsWith(t, bm25.Params{})
}

// windmillsWith returns the same with words that are indexed in some way.
func windmillsWith(t *testing.T, words bm25.Params) *folder.Collection {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "index")
	var lines strings.Builder
	for i := range 40 {
		_, _ = fmt.Fprintf(
			&lines,
			"{\"id\":\"p%02d\",\"text\":\"a windmill of number %d\",\"tags\":[%q,%q]}\n",
			i,
			i,
			fmt.Sprint("by", i%4),
			fmt.Sprint("of", i%5),
		)
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(lines.String())}})
	if err != nil {
		t.Fatal(err)
	}
	options := store.BuildOptions{
		Experts: []store.PassageEncoder{compass{}},
		Index:   store.Index{Kind: "flat"},
		Words:   words,
	}
	if _, err := folder.Build(t.Context(), dir, source, options); err != nil {
		t.Fatal(err)
	}
	c, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// engineOf returns what an engine is made of, without experts.
func engineOf(c *folder.Collection) search.EngineConfig {
	return search.EngineConfig{
		Corpus: Of(c),
		Limits: search.Limits{
			K:             1000,
			Candidates:    1000,
			QuestionBytes: 1000,
			Timeout:       10 * time.Second,
			Batch:         1,
			BatchParallel: 1,
			EmbedInputs:   1,
			EmbedBytes:    1,
			AnswerBytes:   32 << 20,
		},
		LineUp: search.LineUp{
			Defaults: search.Defaults{
				K:          10,
				Candidates: 100,
				Timeout:    2 * time.Second,
				Fusion:     search.MethodAuto,
				Missing:    fusion.Exact,
				Alpha:      .03,
			},
		},
	}
}

// TestFilterReachesTheCollection: the engine's filter is the collection's
// selection, of words and of the passages behind them.
func TestFilterReachesTheCollection(t *testing.T) {
	engine, err := search.NewEngine(engineOf(windmills(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close(t.Context()) }()
	for _, f := range []storage.Filter{{TagsAll: []string{"by1"}}, {TagsAll: []string{"by1", "of3"}}, {TagsAny: []string{"by1", "of3"}}, {TagsAny: []string{"by9"}}} {
		r, err := engine.Search(t.Context(), search.Caller{}, search.Request{Question: "windmill", K: 40, Filter: f, Fields: []string{"tags"}})
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for i := range 40 {
			tags := []string{fmt.Sprint("by", i%4), fmt.Sprint("of", i%5)}
			if hasAll(tags, f.TagsAll) &&
				(len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny,
					func(tag string) bool { return slices.Contains(tags, tag) })) {
				want++
			}
		}
		if len(r.Results) != want || *r.Selected != want {
			t.Errorf("%+v: %d results, %d selected, want %d", f, len(r.Results), *r.Selected, want)
		}
		for _, result := range r.Results {
			if !hasAll(result.Tags, f.TagsAll) {
				t.Errorf("%+v: %+v", f, result)
			}
		}
	}
}

func hasAll(tags, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(tag string) bool { return !slices.Contains(tags, tag) })
}

// TestVectors: east is nearest to p00; among the multiples of four plus one it
// is p01, then p37 on the other side. An expert that the collection lacks is
// no index at all, not an empty one.
func TestVectors(t *testing.T) {
	view := Of(windmills(t)).Acquire()
	defer view.Release()
	narrowed, n, err := view.Among(t.Context(), storage.Filter{TagsAll: []string{"by1"}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := n(t.Context()); err != nil || n != 10 {
		t.Fatalf("%d passages, %v", n, err)
	}
	for _, c := range []struct {
		indexes storage.Indexes
		want    []rank.Ordinal
	}{{view, []rank.Ordinal{0, 1, 39}}, {narrowed, []rank.Ordinal{1, 37, 5}}} {
		index, ok := c.indexes.Vectors("compass")
		if !ok {
			t.Fatal("no vectors")
		}
		hits, err := index.Search(t.Context(), []float32{1, 0}, 3, false)
		var got []rank.Ordinal
		for _, hit := range hits {
			got = append(got, hit.Ordinal)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, %v, want %v", got, err, c.want)
		}
		if index, ok := c.indexes.Vectors("sundial"); ok || index != nil {
			t.Errorf("of an expert that is not there: %v, %v", index, ok)
		}
	}
}

// TestExplain: all 40 passages have "windmill", one has "7" (BM25 in Lucene's
// form: idf = ln(1 + (N - df + 1/2)/(df + 1/2))), and the terms add up to the
// score.
func TestExplain(t *testing.T) {
	view := Of(windmills(t)).Acquire()
	defer view.Release()
	const question = "windmill windmill 7"
	terms, err := view.Words().Explain(t.Context(), question, 7)
	if err != nil || len(terms) != 2 {
		t.Fatalf("%+v, %v", terms, err)
	}
	sum := 0.0
	for _, term := range terms {
		want := storage.TermScore{
			Term:         term.Term,
			Frequency:    1,
			DocFrequency: 1,
			Boost:        1,
			IDF:          math.Log(1 + 39.5/1.5),
			Score:        term.Score,
		}
		if term.Term != "7" {
			want.DocFrequency = 40
			want.Boost = 2
			want.IDF = math.Log(1 + .5/40.5)
		}
		if math.Abs(term.IDF-want.IDF) > 1e-6 {
			t.Errorf("the idf of %q is %v, want %v", term.Term, term.IDF, want.IDF)
		}
		want.IDF = term.IDF
		if term != want {
			t.Errorf("%+v, want %+v", term, want)
		}
		sum += term.Score
	}
	score := make([]float32, 1)
	if err := view.Words().Scores(t.Context(), question, []rank.Ordinal{7}, score); err != nil ||
		math.Abs(sum-float64(score[0])) > 1e-6 {
		t.Errorf("the terms add up to %v, the score is %v, %v", sum, score[0], err)
	}
	if _, err := view.Words().Explain(t.Context(), question, 40); err == nil {
		t.Error("a passage that is not there was explained")
	}
}

// TestPhrases: "number 7" is in one passage of 40, and in none of those that a
// filter lets through without it; a collection without phrases has no index of
// them, narrowed or not.
func TestPhrases(t *testing.T) {
	params := bm25.DefaultParams()
	params.Phrases = true
	for _, phrases := range []bool{true, false} {
		words := params
		words.Phrases = phrases
		view := Of(windmillsWith(t, words)).Acquire()
		for tag, found := range map[string]int{"": 1, "by3": 1, "by2": 0} {
			indexes := storage.Indexes(view)
			if tag != "" {
				var err error
				indexes, _, err = view.Among(t.Context(), storage.Filter{TagsAll: []string{tag}})
				if err != nil {
					t.Fatal(err)
				}
			}
			index := indexes.Phrases()
			if (index != nil) != phrases {
				t.Fatalf("tag %q: phrases indexed %v, an index %v", tag, phrases, index)
			}
			if index == nil {
				continue
			}
			hits, err := index.Search(t.Context(), "the number 7", 10)
			if err != nil || len(hits) != found || found == 1 && hits[0].Ordinal != 7 {
				t.Errorf("tag %q: %v, %v", tag, hits, err)
			}
			terms, err := index.Explain(t.Context(), "the number 7", 7)
			if err != nil || len(terms) != 1 || terms[0].Term != "number 7" || terms[0].DocFrequency != 1 {
				t.Errorf("tag %q: %+v, %v", tag, terms, err)
			}
		}
		view.Release()
	}
}
