package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the module's folder: the nearest one above the test's own with a go.mod.
// The paths in a binary need not tell it: -trimpath takes them out.
func Root(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			tb.Fatal("no go.mod above the test's folder")
		}
		folder = parent
	}
}
