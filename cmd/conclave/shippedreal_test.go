package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
)

// TestShippedExpertsKnowTheirDomains: of the experts that come with the
// program, merged with the real base, the one of the question's domain counts
// the most, where the domain is clear ("who discovered penicillin" is not: covid is nearer than
// wiki); and its passages come
// first. A few passages of each domain are enough for that.
func TestShippedExpertsKnowTheirDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("merges seven experts")
	}
	library := testenv.Runtime(t)
	checkpoint := testenv.Checkpoint(t)
	base := testenv.Base(t, "int8")
	cache := provision.Cache{Root: filepath.Join(t.TempDir(), "cache")}
	if err := os.MkdirAll(filepath.Dir(cache.Bundle(shipped.Base)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base, cache.Bundle(shipped.Base)); err != nil {
		t.Fatal(err)
	}
	deltas, err := shipped.ReadDeltas(shipped.FS)
	if err != nil {
		t.Fatal(err)
	}
	deltas = slices.DeleteFunc(deltas, func(d *convert.Delta) bool {
		return d.Manifest.Kind == models.KindReader || d.Manifest.Name == shipped.MultilingualLate // of another base
	})
	names := []string{shipped.Base}
	for _, d := range deltas {
		name := d.Manifest.Name
		names = append(names, name)
		if name == "policy" {
			continue // this one is merged here, and the others where setup has not done so
		}
		if err := os.Symlink(filepath.Join(filepath.Dir(base), name), cache.Bundle(name)); err != nil {
			t.Fatal(err)
		}
	}
	wanted := shipped.Missing(shipped.WantedExperts(cache, deltas, false), io.Discard)
	for _, w := range wanted {
		if err := os.RemoveAll(w.Folder); err != nil { // a link to nothing
			t.Fatal(err)
		}
	}
	if err := shipped.Make(t.Context(), wanted, checkpoint, func(int, int) {}); err != nil {
		t.Fatal(err)
	}

	var passages bytes.Buffer
	for _, domain := range []struct{ name, has string }{{"encyclopedia", "Suez"}, {"reviews", "headphones"}, {"tales", "Borrowed Moon"}, {"health", "Nosebleeds"}, {"policy", "Stridewell"}} {
		text, err := os.ReadFile(filepath.Join("..", "..", "shipped", "demo", "passages", domain.name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		others := 0
		for line := range strings.Lines(string(text)) {
			if wanted := strings.Contains(line, domain.has); wanted || others < 4 {
				passages.WriteString(line)
				if !wanted {
					others++
				}
			}
		}
	}
	t.Chdir(t.TempDir())
	write(t, "conclave.yaml", "cache: "+cache.Root+"\nruntime: "+library+"\n")
	write(t, "passages.jsonl", passages.String())
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", "passages.jsonl", "--index", "flat", "--experts", strings.Join(names, ",")); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	server := startServer(t)
	for _, c := range []struct{ question, title, expert string }{
		{"when was the Suez Canal opened", "Suez", "wiki"},
		{"does the battery last a day", "headphones", "amazon"},
		{"why did the fox hide the moon", "Borrowed Moon", "fairytale"},
		{"how do I stop a nosebleed", "Nosebleeds", "medquad"},
		{"can I have my data deleted", "Stridewell", "policy"},
	} {
		r := server.first(c.question)
		heaviest, weight, asked := "", 0.0, 0
		for _, s := range r.Sources {
			if s.Kind == "dense" && s.Status == reply.StatusOK {
				asked++
				if *s.Weight > weight {
					heaviest = s.Name
					weight = *s.Weight
				}
			}
		}
		// The base, DESIRE-ME, which shares its run, and two specialists are asked.
		if r.Fusion != fusion.MethodGate || heaviest != c.expert || asked != 4 ||
			!strings.Contains(r.Results[0].Title, c.title) {
			t.Errorf(
				"%s: %s by %s; %s counts the most (%.2f) of %d experts asked, want %s",
				c.question,
				r.Results[0].Title,
				r.Fusion,
				heaviest,
				weight,
				asked,
				c.expert,
			)
		}
	}
}
