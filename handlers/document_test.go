package handlers

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

//go:generate go test -run TestCommittedDocument -update

var update = flag.Bool("update", false, "write docs/api anew")

// TestCommittedDocument keeps docs/api what the server says of itself.
func TestCommittedDocument(t *testing.T) {
	inJSON, inYAML, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"openapi.json": inJSON, "openapi.yaml": inYAML} {
		path := filepath.Join("..", "docs", "api", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./handlers and look at what changed", path)
		}
	}
}
