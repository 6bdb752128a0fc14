// Package testenv finds, for tests, what `conclave setup` installs: the ONNX
// Runtime library, the published checkpoint and the base bundles. A test that
// needs one of them is skipped where setup has not run; `make test` runs it.
package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/internal/provision"
)

// Runtime returns the path of the ONNX Runtime library in the cache. It skips the test if conclave setup has not
// fetched it.
func Runtime(tb testing.TB) string {
	tb.Helper()
	return require(tb, cache(tb).Library())
}

// Checkpoint returns the folder in the cache of the base encoder as published. It skips the test if it is not there.
func Checkpoint(tb testing.TB) string {
	tb.Helper()
	return require(tb, cache(tb).Checkpoint(provision.BaseCheckpoint))
}

// Base returns the folder in the cache of the base encoder's bundle in a precision, "fp32" or "int8". It skips the
// test if it is not there.
func Base(tb testing.TB, precision string) string {
	tb.Helper()
	name := "base"
	if precision != "int8" {
		name += "-" + precision
	}
	return require(tb, cache(tb).Bundle(name))
}

// LinkPDFium makes the folder pdf of another cache a link to that of the machine's cache, which it creates if need be:
// the compiled form of PDFium is there, or is stored there by the first process that reads files. Without it each such
// process compiles PDFium, which takes five seconds of a processor. The test fails if the link cannot be made.
func LinkPDFium(tb testing.TB, other string) {
	tb.Helper()
	compiled := filepath.Join(cache(tb).Root, "pdf")
	for _, folder := range []string{compiled, other} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.Symlink(compiled, filepath.Join(other, "pdf")); err != nil {
		tb.Fatal(err)
	}
}

// cache returns the cache of fetched files. The test fails if there is no home folder.
func cache(tb testing.TB) provision.Cache {
	tb.Helper()
	c, err := provision.DefaultCache()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// require returns path; it skips the test if there is no such file.
func require(tb testing.TB, path string) string {
	tb.Helper()
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("%s is not there: run `conclave setup` (make test does) first", path)
	}
	return path
}
