package main

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
)

// TestReaderReranks: a reader that the configuration names as a reranker scores passages by its selection, whether it
// marks answers as well or not; and so does the reader of the shipped one's name where no reranker is configured.
func TestReaderReranks(t *testing.T) {
	calibratable(t)
	_, err := tiny.Write(filepath.Join("experts", "marker"), tiny.Expert{Name: "marker", Seed: 5, Reader: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("conclave.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tiny.Write(
		filepath.Join("experts", shipped.Reader), tiny.Expert{Name: shipped.Reader, Seed: 5, Reader: true},
	); err != nil {
		t.Fatal(err)
	}
	for more, name := range map[string]string{
		"readers: [marker]\nrerankers: [marker]\n": "marker", "rerankers: [marker]\n": "marker",
		"readers: [reader]\n": shipped.Reader,
	} {
		write(t, "conclave.yaml", string(text)+more)
		config, err := configs.Load(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		config.Collection = "c"
		l, err := assembly.Open(assembly.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		const question = "who hid in the lamp room"
		got, err := l.Engine.Search(t.Context(), search.Caller{}, search.Request{
			Question: question, K: 5, TimeoutMS: 10000,
			Fusion: search.Methods{Names: []string{fusion.MethodGate}},
			Rerank: ask.RerankOptions{Asked: true, Wanted: true, Passages: 5},
		})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		var above []float64
		for _, r := range got.Results {
			ids = append(ids, r.ID)
			for _, c := range r.Contributions {
				if c.Source == name && c.Origin == reply.OriginRerank {
					above = append(above, *c.Score)
				}
			}
		}
		said, err := l.Engine.Judgements(t.Context(), name, question, ids)
		if err != nil {
			t.Fatal(err)
		}
		if len(above) != len(ids) || len(ids) < 2 {
			t.Fatalf("%q: %d contributions to %d results", more, len(above), len(ids))
		}
		for i := range said {
			if want := said[i] - slices.Min(said); math.Abs(above[i]-want) > 1e-3 {
				t.Errorf("%q: result %d has %v of the reader, which says %v", more, i, above[i], want)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
