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
	"testing/fstest"

	"conclave/configs"
	"conclave/internal/testenv"
	"conclave/models"
	"conclave/provision"
	"conclave/search"
	"conclave/serving"
)

// golden is the path of something in training/golden: a base and deltas.
func golden(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "training", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// calibrated copies a delta of training/golden into folder, and calibrates it.
func calibrated(t *testing.T, from, folder string) {
	t.Helper()
	if err := os.CopyFS(folder, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	b, err := models.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WriteCalibration(models.Calibration{Temperature: 0.05, Depth: 20, Questions: "dev"}); err != nil {
		t.Fatal(err)
	}
}

// madeExperts is a cache that holds a base encoder and merged experts, tiny
// ones, and the deltas they were made from.
func madeExperts(t *testing.T) (cache provision.Cache, deltas []*models.Delta) {
	t.Helper()
	cache = provision.Cache{Root: filepath.Join(t.TempDir(), "cache")}
	folder := t.TempDir()
	calibrated(t, golden(t, "tied"), filepath.Join(folder, "tied"))
	calibrated(t, golden(t, "two"), filepath.Join(folder, "two"))
	deltas, err := readDeltas(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.Import(t.Context(), golden(t, "base"), cache.Bundle(baseExpert), models.ImportOptions{Name: baseExpert}); err != nil {
		t.Fatal(err)
	}
	if err := importBundles(t.Context(), wantedExperts(cache, deltas, false), golden(t, "base"), io.Discard); err != nil {
		t.Fatal(err)
	}
	return cache, deltas
}

// TestShippedExpertsAreServed goes the way of the demo with tiny experts: from
// deltas over bundles and an index to an answer with the experts' weights.
func TestShippedExpertsAreServed(t *testing.T) {
	library := testenv.Runtime(t)
	cache, deltas := madeExperts(t)
	questions, err := filepath.Abs(filepath.Join("..", "..", "demo", "questions", "dev.jsonl"))
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
	config, err := configs.Load(configs.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	config.Cache, config.Runtime, config.Experts = cache.Root, library, demoExperts(cache, names)
	if config.Collection, err = demoFolder(cache, names); err != nil {
		t.Fatal(err)
	}
	term := terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	for range 2 { // the second time it is there
		release, err := holdDemo(t.Context(), cache, config.Collection, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := buildDemo(t.Context(), config, cache, term); err != nil {
			t.Fatal(err)
		}
		release()
	}
	yaml := "cache: " + cache.Root + "\nruntime: " + library + "\n"
	if err := os.WriteFile("conclave.yaml", []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	ask := func(args ...string) search.Response {
		t.Helper()
		code, out, complaints := conclave(t, append([]string{"search", "--collection", config.Collection, "--json", "-k", "1"}, args...)...)
		if code != exitOK {
			t.Fatal(complaints)
		}
		var r search.Response
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, x := range ask("--fusion", "rrf", "how do I stop a nosebleed").Sources {
		if x.Status != "ok" || x.Hits == 0 {
			t.Errorf("source %s: %s with %d hits", x.Name, x.Status, x.Hits)
		}
	}
	sum := 0.0
	for _, x := range ask("--fusion", "muf", "--experts", strings.Join(names, ","), "how do I stop a nosebleed").Sources {
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
	skipped := func(r search.Response) (n int) {
		for _, x := range r.Sources {
			if x.Status == search.StatusSkipped {
				n++
			}
		}
		return n
	}
	if n := skipped(ask("--fusion", "rrf", "--specialists", "1", "how do I stop a nosebleed")); n != 1 {
		t.Errorf("%d specialists are skipped where one of two is asked for", n)
	}
	code, out, complaints := conclave(t, "calibrate", "--collection", config.Collection, "--questions", questions, "--limit", "60", "--specialists", "1")
	if code != exitOK {
		t.Fatal(out, complaints)
	}
	r := ask("--fusion", "gate", "how do I stop a nosebleed")
	if n := skipped(r); n != 1 {
		t.Errorf("%d specialists are skipped where it was calibrated for one", n)
	}
	for _, x := range r.Sources {
		nobody := x.Status == search.StatusSkipped || x.Name == search.PhraseSource
		if (x.Chance == nil) != nobody || (x.Familiarity == nil) != (x.Name == baseExpert || x.Kind == "lexical") {
			t.Errorf("%+v", x)
		}
	}
	// Other experts: another folder. The same ones in a folder of the user's
	// that was indexed without: an error that names both.
	fewer, err := demoFolder(cache, names[:1])
	if err != nil || fewer == config.Collection {
		t.Errorf("without an expert the demo lies in %s: %v", fewer, err)
	}
	config.Experts = demoExperts(cache, names[:1])
	if err := buildDemo(t.Context(), config, cache, term); err == nil || !strings.Contains(err.Error(), "golden-two") {
		t.Errorf("a collection with other experts: %v", err)
	}
}

// TestLateInteractionComesAsTheBaseDoes: in both precisions, and beside the base
// in the same one it takes no run of its own.
func TestLateInteractionComesAsTheBaseDoes(t *testing.T) {
	library := testenv.Runtime(t)
	cache := provision.Cache{Root: filepath.Join(t.TempDir(), "cache")}
	d, err := models.OpenDelta(os.DirFS(golden(t, "late")))
	if err != nil {
		t.Fatal(err)
	}
	wanted := wantedExperts(cache, []*models.Delta{d}, false)
	if err := importBundles(t.Context(), wanted, golden(t, "base"), io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, precision := range []string{models.PrecisionFP32, models.PrecisionInt8} {
		o := models.ImportOptions{Name: baseExpert, Int8: precision == models.PrecisionInt8, MaxTokens: d.Manifest.MaxTokens, Template: d.Manifest.Template}
		if _, err := models.Import(t.Context(), golden(t, "base"), cache.Bundle(serving.BaseBundle(precision)), o); err != nil {
			t.Fatal(err)
		}
	}
	if len(wanted) != 2 || len(verifyBundles(wantedExperts(cache, []*models.Delta{d}, true), io.Discard)) > 0 {
		t.Errorf("%d bundles are wanted, or other ones with --fp32", len(wanted))
	}
	name := d.Manifest.Name
	for _, c := range []struct {
		base, late string
		shared     bool
	}{{"base", name, true}, {"base-int8", name + "-int8", true}, {"base", name + "-int8", false}} {
		loaded, err := serving.OpenExperts(configs.Config{Cache: cache.Root, Runtime: library, Encoder: configs.Encoder{Provider: "cpu"}}, slog.New(slog.DiscardHandler), []string{c.base, c.late})
		if err != nil {
			t.Fatal(err)
		}
		carried := ""
		for _, e := range loaded.All() {
			if other := e.Encoder.Carried(); other != nil {
				carried = other.Name()
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

// TestExpertsAreImportedAgainWhenSomethingChanged, and only then.
func TestExpertsAreImportedAgainWhenSomethingChanged(t *testing.T) {
	cache, deltas := madeExperts(t)
	missing := func(deltas []*models.Delta, full bool) (names []string, says string) {
		var out strings.Builder
		for _, w := range verifyBundles(wantedExperts(cache, deltas, full), &out) {
			names = append(names, w.name)
		}
		return names, out.String()
	}
	if names, says := missing(deltas, false); len(names) > 0 || says != "" {
		t.Errorf("imported again: %q %s", names, says)
	}
	b, err := models.Load(cache.Bundle("golden-tied"))
	if err != nil || b.Manifest.Precision != models.PrecisionInt8 {
		t.Errorf("%s, %v", b.Manifest.Precision, err)
	}
	if names, _ := missing(deltas, true); !slices.Equal(names, []string{"golden-tied-fp32", "golden-two-fp32"}) {
		t.Errorf("with full precision: %q", names)
	}
	// What somebody calibrated again stays.
	if err := b.WriteCalibration(models.Calibration{Temperature: 0.1, Depth: 30}); err != nil {
		t.Fatal(err)
	}
	if names, _ := missing(deltas, false); len(names) > 0 {
		t.Errorf("calibrated by hand: %q", names)
	}
	// A changed byte, and another delta, calibration included.
	if err := os.WriteFile(b.Path(models.CardFile), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if names, says := missing(deltas, false); !slices.Equal(names, []string{"golden-tied"}) || !strings.Contains(says, "CARD.md has changed") {
		t.Errorf("a changed byte: %q %s", names, says)
	}
	plain, err := models.OpenDelta(os.DirFS(golden(t, "two")))
	if err != nil {
		t.Fatal(err)
	}
	if names, says := missing([]*models.Delta{plain}, false); !slices.Equal(names, []string{"golden-two"}) || !strings.Contains(says, "from another delta") {
		t.Errorf("another calibration: %q %s", names, says)
	}
	if err := importBundles(t.Context(), wantedExperts(cache, []*models.Delta{plain}, false), golden(t, "two"), io.Discard); err == nil || !strings.Contains(err.Error(), "bundle golden-two") {
		t.Errorf("a base that is none: %v", err)
	}
}

func TestReadDeltas(t *testing.T) {
	folder := t.TempDir()
	calibrated(t, golden(t, "tied"), filepath.Join(folder, "a"))
	if err := os.MkdirAll(filepath.Join(folder, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Import(t.Context(), golden(t, "base"), filepath.Join(folder, "graphs"), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if deltas, err := readDeltas(os.DirFS(folder)); err != nil || len(deltas) != 1 {
		t.Errorf("%d deltas, %v", len(deltas), err)
	}
	calibrated(t, golden(t, "tied"), filepath.Join(folder, "b"))
	if _, err := readDeltas(os.DirFS(folder)); err == nil || !strings.Contains(err.Error(), `experts a and b have the same name, "golden-tied"`) {
		t.Errorf("two of a name: %v", err)
	}
	broken := fstest.MapFS{"x/expert.yaml": {Data: []byte("format: 1\n")}}
	if _, err := readDeltas(broken); err == nil || !strings.Contains(err.Error(), "expert x: expert.yaml") {
		t.Errorf("a bad manifest: %v", err)
	}
}

// TestSharedProgress: several imports under one bar, which never goes back
// once all have begun.
func TestSharedProgress(t *testing.T) {
	var seen [][2]int64
	s := &sharedProgress{parts: make([][2]int64, 2), show: func(done, total int64) { seen = append(seen, [2]int64{done, total}) }}
	s.report(0, 10, 100)
	s.report(1, 5, 60)
	s.report(0, 100, 100)
	s.report(1, 60, 60)
	if want := [][2]int64{{10, 200}, {15, 160}, {105, 160}, {160, 160}}; !slices.Equal(seen, want) {
		t.Errorf("%v, not %v", seen, want)
	}
}
