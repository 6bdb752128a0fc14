// Package tinyexperts makes the experts of training/golden, which are tiny, for tests.
package tinyexperts

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/shipped"
)

// Golden returns the path of a file or folder in training/golden: the checkpoint "base", and deltas such as "tied"
// and "two". The test fails if it does not exist.
func Golden(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(testenv.Root(t), "training", "golden", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Calibrate copies the delta in the folder from to folder, and writes a fixed calibration into the copy.
func Calibrate(t *testing.T, from, folder string) {
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

// Made returns a cache in a temporary folder that holds a tiny base encoder and the experts merged from it and
// deltas, and those deltas.
func Made(t *testing.T) (cache provision.Cache, deltas []*convert.Delta) {
	t.Helper()
	cache = provision.Cache{Root: filepath.Join(t.TempDir(), "cache")}
	folder := t.TempDir()
	Calibrate(t, Golden(t, "tied"), filepath.Join(folder, "tied"))
	Calibrate(t, Golden(t, "two"), filepath.Join(folder, "two"))
	deltas, err := shipped.ReadDeltas(os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Import(t.Context(), Golden(t, "base"), cache.Bundle(shipped.Base),
		convert.Options{Name: shipped.Base}); err != nil {
		t.Fatal(err)
	}
	if err := shipped.Make(t.Context(), shipped.WantedExperts(cache, deltas, false), Golden(t, "base"),
		func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	return cache, deltas
}
