package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"example.org/conclave/cmd/internal/cli"
)

// TestVersion compares the formats that version prints with those of files that index writes, and sees that a
// configuration that cannot be read does no harm.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	term := cli.Terminal{Out: &out, Err: &bytes.Buffer{}, Environ: []string{"CONCLAVE_SERVER_LISTEN=nowhere at all"}}
	if code := cli.Run(t.Context(), newRoot(term), []string{"version", "--json"}, term); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, term.Err)
	}
	printed := bytes.Clone(out.Bytes())
	var got map[string]any
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatal(err)
	}
	keys := []string{"version", "commit", "modified", "go", "platform", "processor", "onnxruntime", "library"}
	for _, key := range keys {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing in %s", key, printed)
		}
	}
	passages := filepath.Join(t.TempDir(), "passages.jsonl")
	if err := os.WriteFile(passages, []byte("{\"id\": \"a\", \"text\": \"rice keeps for a day\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	collection := filepath.Join(t.TempDir(), "c")
	args := []string{"index", "--experts", "none", "--in", passages, "--collection", collection}
	term.Environ = nil
	if code := cli.Run(t.Context(), newRoot(term), args, term); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, term.Err)
	}
	manifest, err := os.ReadFile(filepath.Join(collection, "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`^conclave manifest (\d+) `).FindSubmatch(manifest)
	var formats struct {
		Formats struct{ Collection []json.Number }
	}
	if err := json.Unmarshal(printed, &formats); err != nil || written == nil ||
		!slices.Contains(formats.Formats.Collection, json.Number(written[1])) {
		t.Errorf("%v: collections have format %s, and version says %v", err, written, formats.Formats.Collection)
	}
}
