package view

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// TestCopiesCountOnce: a collection in which each passage is there five times, some with
// other white space and capitals, is answered as one in which each is there once: the same
// ten texts with the same scores of vectors, whatever the method, the copies by name, and the
// leads that a confidence is read from are not those of a passage over its own copy. With
// "collapse": false each counts for itself.
func TestCopiesCountOnce(t *testing.T) {
	const seed = 5
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	vocabulary := strings.Fields("windmill river stone lantern orchard winter market bridge candle harbour garden island")
	engineWith := func(times, segments int) *search.Engine {
		random := rand.New(rand.NewPCG(seed, 1))
		sources := make([]*list, segments)
		for i := range sources {
			sources[i] = &list{}
		}
		for i := range 200 {
			some := make([]string, 4+random.IntN(6))
			for n := range some {
				some[n] = vocabulary[random.IntN(len(vocabulary))]
			}
			text := strings.Join(some, " ")
			for n := range times {
				p := corpus.Passage{ID: fmt.Sprintf("p%03d-%d", i, n), Text: text}
				if n%2 == 1 {
					p.Text = "  " + strings.ReplaceAll(text, " ", "\n")
				}
				to := sources[(i+n)%segments]
				to.passages = append(to.passages, p)
			}
		}
		words := bm25.DefaultParams()
		words.Phrases = true
		options := store.BuildOptions{
			Experts: []store.PassageEncoder{hashed{name: "base"}, hashed{name: "tokens", late: true}},
			Index:   store.Index{Kind: "flat"},
			Words:   words,
			Threads: 1,
		}
		dir := filepath.Join(t.TempDir(), "index")
		if _, err := folder.Build(t.Context(), dir, sources[0], options); err != nil {
			t.Fatal(err)
		}
		for _, s := range sources[1:] {
			if _, err := added(t, dir, s, options); err != nil {
				t.Fatal(err)
			}
		}
		c, err := folder.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		g := c.Acquire()
		defer g.Release()
		if n, err := g.Copies(t.Context()); err != nil || n != 200*(times-1) {
			t.Errorf("%d copies, %v, want %d", n, err, 200*(times-1))
		}
		config := engineOf(c)
		config.Defaults.Gate = gateOf(rand.New(rand.NewPCG(3, 3)))
		config.Reference = "base"
		config.Experts = []learned.Expert{
			{Name: "base", Encoder: hashed{name: "base"}, Info: learned.ExpertInfo{Dimension: hashedDimension}},
		}
		config.Late = []learned.Expert{{
			Name:    "tokens",
			Encoder: hashed{name: "tokens", late: true},
			Info:    learned.ExpertInfo{Dimension: hashedDimension},
		}}
		engine, err := search.NewEngine(config)
		if err != nil {
			t.Fatal(err)
		}
		return engine
	}
	once, five := engineWith(1, 1), engineWith(5, 3)
	for range 20 {
		question := vocabulary[random.IntN(12)] + " " + vocabulary[random.IntN(12)] + " " + vocabulary[random.IntN(12)]
		for _, method := range []string{"sum", "rrf", "gate"} {
			r := search.Request{
				Question:   question,
				Fusion:     search.Methods{Names: []string{method}},
				K:          10,
				Candidates: 20,
				TimeoutMS:  10_000,
			}
			if method == "sum" {
				r.BM25 = new(false) // whose statistics count all passages
			}
			want, got := asked(t, once, r), asked(t, five, r)
			texts := map[string]bool{}
			for i, x := range got {
				texts[strings.Join(strings.Fields(x.Text), " ")] = true
				own := x.ID[:4]
				others := []string{}
				for n := range 5 {
					if id := fmt.Sprintf("%s-%d", own, n); id != x.ID {
						others = append(others, id)
					}
				}
				if x.ID[4:] != "-0" || !slices.Equal(x.Copies, others) {
					t.Errorf("%q by %s: %s has the copies %q", question, method, x.ID, x.Copies)
				}
				if method == "sum" && (want[i].ID != x.ID || math.Abs(want[i].Score-x.Score) > 1e-6) {
					t.Errorf("%q by %s: %s %v, without copies %s %v", question, method, x.ID, x.Score, want[i].ID, want[i].Score)
				}
			}
			if len(texts) != 10 {
				t.Errorf("%q by %s: %d texts", question, method, len(texts))
			}
			r.Collapse = new(false)
			each := map[string]bool{}
			for _, x := range asked(t, five, r) {
				each[strings.Join(strings.Fields(x.Text), " ")] = true
				if x.Copies != nil {
					t.Errorf("%q by %s, not collapsed: %+v", question, method, x)
				}
			}
			if len(each) > 5 {
				t.Errorf("%q by %s, not collapsed: %d texts", question, method, len(each))
			}
		}
		// What calibration reads is of distinct texts, too.
		found, err := five.Gather(t.Context(), search.Request{Question: question, Candidates: 20, TimeoutMS: 10_000}, 20)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range found.Table.Ordinals() {
			if len(found.Copies[o]) != 4 {
				t.Errorf("%q: passage %d has %d copies", question, o, len(found.Copies[o]))
			}
		}
		for _, s := range found.Sources {
			if s.Kind == fusion.Generalist && len(s.Hits) != 20 {
				t.Errorf("%q: %d hits of %s", question, len(s.Hits), s.Name)
			}
		}
	}
}
