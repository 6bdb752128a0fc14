package convert_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

func write(tb testing.TB, o tiny.Expert) *models.Bundle {
	tb.Helper()
	b, err := tiny.Write(filepath.Join(tb.TempDir(), "bundle"), o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestAFolderThatIsNoBundleIsKept(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(precious, []byte("all my work"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tiny.Write(dir, tiny.Expert{}); err == nil {
		t.Error("a folder with other files became a bundle")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
	// A bundle is replaced, as a whole.
	b := write(t, tiny.Expert{TwoTowers: true, EnsembleMembers: 3})
	if _, err := tiny.Write(b.Dir, tiny.Expert{Seed: 2}); err != nil {
		t.Fatal(err)
	}
	got, err := models.Load(b.Dir)
	if err != nil || got.Manifest.Vectors.Ensemble != nil || got.Calibration != nil {
		t.Errorf("%+v, %v", got, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(b.Dir), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTinyIsDeterministic(t *testing.T) {
	for _, o := range []tiny.Expert{tiny.Expert{TwoTowers: true, EnsembleMembers: 3}, {Int8: true}} {
		a, b := write(t, o), write(t, o)
		if !sameFiles(t, a.Dir, b.Dir) {
			t.Error("the same options gave other bytes")
		}
	}
}

// sameFiles compares two folders byte by byte.
func sameFiles(tb testing.TB, a, b string) bool {
	tb.Helper()
	entries, err := os.ReadDir(a)
	if err != nil {
		tb.Fatal(err)
	}
	others, err := os.ReadDir(b)
	if err != nil || len(others) != len(entries) {
		return false
	}
	for _, entry := range entries {
		x, err := os.ReadFile(filepath.Join(a, entry.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		if y, err := os.ReadFile(filepath.Join(b, entry.Name())); err != nil || string(x) != string(y) {
			return false
		}
	}
	return true
}
