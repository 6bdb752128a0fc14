package main

import (
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// TestSparseExpert: a masked language model is imported, joins a collection, and is a source of its kind beside words;
// what it finds is what comparing its vectors by hand finds. It has no granularity, and no vector to hand out.
func TestSparseExpert(t *testing.T) {
	checkpoint := filepath.Join(testenv.Root(t), "encoder", "testdata", "sparse", "bert")
	file := workplace(t)
	for _, args := range [][]string{
		{"models", "import", checkpoint, "--out", filepath.Join("experts", "splade"), "--unchecked"},
		{"index", "--collection", "c", "--in", file, "--experts", "small"},
		{"index", "--collection", "c", "--add-expert", "splade"},
	} {
		if code, _, complaints := conclave(t, args...); code != cli.ExitOK {
			t.Fatalf("%q: %s", args, complaints)
		}
	}
	config, err := configs.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	config.Collection = "c"
	a, err := assembly.Open(assembly.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const question = "who keeps the lamp of the lighthouse at night"
	r, err := a.Engine.Search(t.Context(), search.Caller{}, search.Request{
		Question: question, Fusion: search.Methods{Names: []string{fusion.MethodRRF}}, K: 40, TimeoutMS: 10_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	var passages []corpus.Passage
	scores := map[string]float64{}
	for _, x := range r.Results {
		p, _, err := a.Engine.Passage(t.Context(), search.Caller{}, x.ID)
		if err != nil {
			t.Fatal(err)
		}
		passages = append(passages, p)
		for _, c := range x.Contributions {
			if c.Source == "splade" && c.Score != nil {
				scores[x.ID] = *c.Score
			}
		}
	}
	at := slices.IndexFunc(r.Sources, func(s reply.Source) bool { return s.Name == "splade" })
	if at < 0 || r.Sources[at].Kind != reply.KindSparse || r.Sources[at].Hits == 0 || len(scores) == 0 {
		t.Fatalf("%+v, %d scores", r.Sources, len(scores))
	}
	request := lookup.EmbedRequest{Expert: "splade", Input: []string{"x"}}
	if _, err := a.Engine.Embed(t.Context(), search.Caller{}, request); err == nil ||
		!strings.Contains(err.Error(), "weighs word pieces") {
		t.Errorf("a vector of it: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	x, err := experts.Open(config, slog.New(slog.DiscardHandler), []string{"splade"})
	if err != nil {
		t.Fatal(err)
	}
	e := x.Searched[0]
	asked, err := e.Encoder.EncodeQuestion(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.EncodePassages(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		sum := 0.0
		for q := range slices.Chunk(asked, 2) {
			for p := range slices.Chunk(v, 2) {
				if p[0] == q[0] {
					sum += float64(q[1]) * float64(p[1])
				}
			}
		}
		// A stored weight is at most half a step of 1/64 away.
		if got, ok := scores[passages[i].ID]; ok && math.Abs(got-sum) > float64(len(asked)/2)*4/128 {
			t.Errorf("%s scores %v, by hand %v", passages[i].ID, got, sum)
		}
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--add-expert", "splade@3"); code == cli.ExitOK ||
		!strings.Contains(complaints, "no granularities") {
		t.Errorf("a granularity: %s", complaints)
	}
}
