package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the module's folder: the nearest one with a go.mod, from the working directory upwards. The test fails
// if there is none. Paths in the binary would not tell it, since -trimpath removes them.
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
