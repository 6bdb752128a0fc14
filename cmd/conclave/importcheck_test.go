package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/internal/testing/tinyexperts"
)

// TestImportAsks: an import by command names the flag for what it does not know, refuses what
// finds no paraphrases and leaves the bundle that was there, and takes it when told to.
func TestImportAsks(t *testing.T) {
	base := tinyexperts.Golden(t, "base")
	runtime := testenv.Runtime(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("conclave.yaml", []byte("cache: cache\nruntime: "+runtime+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS("bare", os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join("bare", "1_Pooling")); err != nil {
		t.Fatal(err)
	}
	if code, _, complaints := conclave(t, "models", "import", "bare", "--out", "b"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "-> choose with --pooling cls, mean or pooler") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if code, _, complaints := conclave(t, "models", "import", filepath.Join(base, "model.safetensors"), "--out",
		"b"); code != cli.ExitUsage ||
		!strings.Contains(complaints, "name the folder") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	code, out, complaints := conclave(
		t, "models", "import", "bare", "--pooling", "mean", "--question-prefix", "q: ", "--unchecked", "--out", "b",
	)
	if code != cli.ExitOK || !strings.Contains(out, "b: b, 32 dimensions") {
		t.Fatalf("exit code %d, %s%s", code, out, complaints)
	}
	before, err := os.ReadFile("b/expert.yaml")
	if err != nil || !strings.Contains(string(before), "question: 'q: '") {
		t.Fatalf("%s %v", before, err)
	}
	if code, _, complaints := conclave(t, "models", "import", "bare", "--pooling", "mean", "--out",
		"b"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "paraphrases") ||
		!strings.Contains(complaints, "--unchecked") {
		t.Errorf("random weights: exit code %d, %s", code, complaints)
	}
	after, err := os.ReadFile("b/expert.yaml")
	if err != nil || string(after) != string(before) {
		t.Errorf("a refused import has changed what was there: %v", err)
	}
	entries, err := os.ReadDir(".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s was left behind, %v", e.Name(), err)
		}
	}
}
