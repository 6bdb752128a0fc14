// Package golden finds the reference material that lies beside a checkout: the
// golden outputs of other implementations, the data sets and real vectors.
// None of it is part of the project, so a test that needs it is skipped, with
// a message that says why, where the folder is absent.
package golden

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"example.org/conclave/internal/testing/testenv"
)

// envShared names the environment variable that overrides where the reference
// material is looked for.
const envShared = "CONCLAVE_SHARED"

// Path returns the path of a file or folder of the reference material, for instance Path(t,
// "golden/bm25/scifact.run.jsonl.gz"). It skips the test if that does not exist.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv(envShared)
	if root == "" {
		root = filepath.Join(testenv.Root(tb), "..", "shared")
	}
	path := filepath.Join(root, filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("reference material %s is not here (looked at %s; set %s to the folder that has it)", name, path, envShared)
	}
	return path
}

// Lines decodes each line of a gzip-compressed JSON Lines file of the reference material (Path) into a T, without
// empty lines. The test is skipped if there is no such file, and fails if a line cannot be decoded.
func Lines[T any](tb testing.TB, name string) []T {
	tb.Helper()
	file, err := os.Open(Path(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatalf("reading %s: %v", name, err)
	}
	var out []T
	scanner := bufio.NewScanner(unzipped)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		if strings.TrimSpace(scanner.Text()) == "" {
			continue
		}
		var v T
		if err := json.Unmarshal(scanner.Bytes(), &v); err != nil {
			tb.Fatalf("%s line %d: %v", name, len(out)+1, err)
		}
		out = append(out, v)
	}
	if err := scanner.Err(); err != nil {
		tb.Fatalf("reading %s: %v", name, err)
	}
	return out
}
