package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/internal/testing/tinyexperts"
	"example.org/conclave/models/convert"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
	"example.org/conclave/shipped/demo"
)

// TestShippedExpertsAreServed goes the way of the demo with tiny experts: from
// deltas over bundles and an index to an answer with the experts' weights.
func TestShippedExpertsAreServed(t *testing.T) {
	library := testenv.Runtime(t)
	cache, deltas := tinyexperts.Made(t)
	questions, err := filepath.Abs(filepath.Join("..", "..", "shipped", "demo", "questions", "documents", "dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var names []string
	for _, d := range deltas {
		names = append(names, d.Manifest.Name)
	}
	if !slices.Equal(names, []string{"golden-tied", "golden-two"}) {
		t.Fatalf("names %q", names)
	}
	config, err := configs.Load(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	config.Experts = demo.Experts(cache, names)
	config.Cache = cache.Root
	config.Runtime = library
	config.Collection, err = demo.Folder(cache, config.Experts)
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.MakeRoom(cache, config.Collection); err != nil {
		t.Fatal(err)
	}
	term := cli.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	for range 2 { // the second time it is there
		if err := buildDemo(t.Context(), config, term); err != nil {
			t.Fatal(err)
		}
	}
	yaml := "cache: " + cache.Root + "\nruntime: " + library + "\n"
	if err := os.WriteFile("conclave.yaml", []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) reply.Response {
		t.Helper()
		code, out, complaints := conclave(
			t,
			append([]string{"search", "--collection", config.Collection, "--json", "-k", "1"}, args...)...)
		if code != cli.ExitOK {
			t.Fatal(complaints)
		}
		var r reply.Response
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, x := range ask("--fusion", "rrf", "what about ask0 in ask1").Sources {
		if x.Status != "ok" || x.Hits == 0 {
			t.Errorf("source %s: %s with %d hits", x.Name, x.Status, x.Hits)
		}
	}
	sum := 0.0
	for _, x := range ask("--fusion", "muf", "--experts", strings.Join(names, ","), "what about ask0 in ask1").Sources {
		if x.Confidence == nil || x.Weight == nil {
			t.Fatalf("source %s says nothing of its confidence", x.Name)
		}
		sum += *x.Weight
	}
	if sum < 0.999 || sum > 1.001 {
		t.Errorf("the experts' weights add up to %v", sum)
	}
	// One of the two has to do where one is asked for, and where the collection
	// was calibrated for one; each source then has a chance of its own.
	skipped := func(r reply.Response) (n int) {
		for _, x := range r.Sources {
			if x.Status == reply.StatusSkipped {
				n++
			}
		}
		return n
	}
	if n := skipped(ask("--fusion", "rrf", "--specialists", "1", "what about ask0 in ask1")); n != 1 {
		t.Errorf("%d specialists are skipped where one of two is asked for", n)
	}
	code, out, complaints := conclave(
		t,
		"calibrate",
		"--collection",
		config.Collection,
		"--questions",
		questions,
		"--limit",
		"60",
		"--specialists",
		"1",
	)
	if code != cli.ExitOK {
		t.Fatal(out, complaints)
	}
	r := ask("--fusion", "gate", "what about ask0 in ask1")
	if n := skipped(r); n != 1 {
		t.Errorf("%d specialists are skipped where it was calibrated for one", n)
	}
	for _, x := range r.Sources {
		nobody := x.Status == reply.StatusSkipped || x.Name == reply.PhraseSource || x.Name == reply.NearSource
		if (x.Chance == nil) != nobody || (x.Familiarity == nil) != (x.Name == shipped.Base || x.Kind == "lexical") {
			t.Errorf("%+v", x)
		}
	}
	// Other experts: another folder. The same ones in a folder of the user's
	// that was indexed without: an error that names both.
	fewer, err := demo.Folder(cache, demo.Experts(cache, names[:1]))
	if err != nil || fewer == config.Collection {
		t.Errorf("without an expert the demo lies in %s: %v", fewer, err)
	}
	config.Experts = demo.Experts(cache, names[:1])
	if err := buildDemo(t.Context(), config, term); err == nil || !strings.Contains(err.Error(), "golden-two") {
		t.Errorf("a collection with other experts: %v", err)
	}
}

// TestLateInteractionComesAsTheBaseDoes: in both precisions, and beside the base
// in the same one it takes no run of its own.
func TestLateInteractionComesAsTheBaseDoes(t *testing.T) {
	library := testenv.Runtime(t)
	cache := provision.Cache{Root: filepath.Join(t.TempDir(), "cache")}
	d, err := convert.OpenDelta(os.DirFS(tinyexperts.Golden(t, "late")))
	if err != nil {
		t.Fatal(err)
	}
	wanted := shipped.WantedExperts(cache, []*convert.Delta{d}, false)
	if err := shipped.Make(t.Context(), wanted, tinyexperts.Golden(t, "base"), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{shipped.Base, shipped.InFull(shipped.Base)} {
		o := convert.Options{
			Name:      shipped.Base,
			Int8:      name == shipped.Base,
			MaxTokens: d.Manifest.Vectors.MaxTokens,
			Template:  d.Manifest.Vectors.Template,
		}
		if _, err := convert.Import(t.Context(), tinyexperts.Golden(t, "base"), cache.Bundle(name), o); err != nil {
			t.Fatal(err)
		}
	}
	if len(wanted) != 2 || len(shipped.Missing(shipped.WantedExperts(cache, []*convert.Delta{d}, true), io.Discard)) > 0 {
		t.Errorf("%d bundles are wanted, or other ones with --fp32", len(wanted))
	}
	name := d.Manifest.Name
	for _, c := range []struct {
		base, late string
		shared     bool
	}{{"base", name, true}, {"base-fp32", name + "-fp32", true}, {"base", name + "-fp32", false}} {
		loaded, err := experts.Open(
			configs.Config{Cache: cache.Root, Runtime: library, Encoder: configs.Encoder{Provider: "cpu"}},
			slog.New(slog.DiscardHandler),
			[]string{c.base, c.late},
		)
		if err != nil {
			t.Fatal(err)
		}
		carried := ""
		for _, e := range loaded.All() {
			for _, late := range loaded.All() {
				if late.Encoder.Carried() == e.Encoder {
					carried = e.Name()
				}
			}
		}
		if (carried == c.base) != c.shared {
			t.Errorf("%s carries %q; of %s that should be %t", c.late, carried, c.base, c.shared)
		}
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	}
}
