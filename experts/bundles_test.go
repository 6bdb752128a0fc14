package experts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"conclave/models"
	"conclave/provision"
)

// goldenPath is the path of something in training/golden: a base and deltas.
func goldenPath(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "training", "golden", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// copyCalibrated copies a delta of training/golden into folder, and calibrates it.
func copyCalibrated(t *testing.T, from, folder string) {
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
	copyCalibrated(t, goldenPath(t, "tied"), filepath.Join(folder, "tied"))
	copyCalibrated(t, goldenPath(t, "two"), filepath.Join(folder, "two"))
	deltas, err := ReadDeltas(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := models.Import(t.Context(), goldenPath(t, "base"), cache.Bundle(Base), models.ImportOptions{Name: Base}); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), WantedExperts(cache, deltas, false), goldenPath(t, "base"), func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	return cache, deltas
}

// TestExpertsAreImportedAgainWhenSomethingChanged, and only then.
func TestExpertsAreImportedAgainWhenSomethingChanged(t *testing.T) {
	cache, deltas := madeExperts(t)
	missing := func(deltas []*models.Delta, full bool) (names []string, says string) {
		var out strings.Builder
		for _, w := range Missing(WantedExperts(cache, deltas, full), &out) {
			names = append(names, w.Name)
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
	plain, err := models.OpenDelta(os.DirFS(goldenPath(t, "two")))
	if err != nil {
		t.Fatal(err)
	}
	if names, says := missing([]*models.Delta{plain}, false); !slices.Equal(names, []string{"golden-two"}) || !strings.Contains(says, "from another delta") {
		t.Errorf("another calibration: %q %s", names, says)
	}
	if err := Make(t.Context(), WantedExperts(cache, []*models.Delta{plain}, false), goldenPath(t, "two"), func(string, int64, int64) {}); err == nil || !strings.Contains(err.Error(), "bundle golden-two") {
		t.Errorf("a base that is none: %v", err)
	}
}

func TestReadDeltas(t *testing.T) {
	folder := t.TempDir()
	copyCalibrated(t, goldenPath(t, "tied"), filepath.Join(folder, "a"))
	if err := os.MkdirAll(filepath.Join(folder, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Import(t.Context(), goldenPath(t, "base"), filepath.Join(folder, "graphs"), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if deltas, err := ReadDeltas(os.DirFS(folder)); err != nil || len(deltas) != 1 {
		t.Errorf("%d deltas, %v", len(deltas), err)
	}
	copyCalibrated(t, goldenPath(t, "tied"), filepath.Join(folder, "b"))
	if _, err := ReadDeltas(os.DirFS(folder)); err == nil || !strings.Contains(err.Error(), `experts a and b have the same name, "golden-tied"`) {
		t.Errorf("two of a name: %v", err)
	}
	broken := fstest.MapFS{"x/expert.yaml": {Data: []byte("format: 1\n")}}
	if _, err := ReadDeltas(broken); err == nil || !strings.Contains(err.Error(), "expert x: expert.yaml") {
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
