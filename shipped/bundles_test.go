package shipped_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.org/conclave/internal/testing/tinyexperts"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/shipped"
)

// TestExpertsAreImportedAgainWhenSomethingChanged, and only then.
func TestExpertsAreImportedAgainWhenSomethingChanged(t *testing.T) {
	cache, deltas := tinyexperts.Made(t)
	missing := func(deltas []*convert.Delta, full bool) (names []string, says string) {
		var out strings.Builder
		for _, w := range shipped.Missing(shipped.WantedExperts(cache, deltas, full), &out) {
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
	if names, says := missing(deltas, false); !slices.Equal(names, []string{"golden-tied"}) ||
		!strings.Contains(says, "CARD.md has changed") {
		t.Errorf("a changed byte: %q %s", names, says)
	}
	plain, err := convert.OpenDelta(os.DirFS(tinyexperts.Golden(t, "two")))
	if err != nil {
		t.Fatal(err)
	}
	if names, says := missing([]*convert.Delta{plain}, false); !slices.Equal(names, []string{"golden-two"}) ||
		!strings.Contains(says, "from another delta") {
		t.Errorf("another calibration: %q %s", names, says)
	}
	if err := shipped.Make(t.Context(), shipped.WantedExperts(cache, []*convert.Delta{plain}, false), tinyexperts.Golden(t, "two"), func(int, int) {}); err == nil ||
		!strings.Contains(err.Error(), "bundle golden-two") {
		t.Errorf("a base that is none: %v", err)
	}
}

func TestReadDeltas(t *testing.T) {
	folder := t.TempDir()
	tinyexperts.Calibrate(t, tinyexperts.Golden(t, "tied"), filepath.Join(folder, "a"))
	if err := os.MkdirAll(filepath.Join(folder, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Import(t.Context(), tinyexperts.Golden(t, "base"), filepath.Join(folder, "graphs"),
		convert.Options{}); err != nil {
		t.Fatal(err)
	}
	if deltas, err := shipped.ReadDeltas(os.DirFS(folder)); err != nil || len(deltas) != 1 {
		t.Errorf("%d deltas, %v", len(deltas), err)
	}
	tinyexperts.Calibrate(t, tinyexperts.Golden(t, "tied"), filepath.Join(folder, "b"))
	if _, err := shipped.ReadDeltas(os.DirFS(folder)); err == nil ||
		!strings.Contains(err.Error(), `experts a and b have the same name, "golden-tied"`) {
		t.Errorf("two of a name: %v", err)
	}
	broken := fstest.MapFS{"x/expert.yaml": {Data: []byte("format: 1\n")}}
	if _, err := shipped.ReadDeltas(broken); err == nil || !strings.Contains(err.Error(), "expert x: expert.yaml") {
		t.Errorf("a bad manifest: %v", err)
	}
}
