package models_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/models"

	"go.yaml.in/yaml/v3"
)

// TestManifestBytes: a manifest of each kind, as this program wrote it, is written again as the
// same bytes; those that training wrote have the same keys and values in the same order.
func TestManifestBytes(t *testing.T) {
	var files []string
	for _, pattern := range []string{
		"testdata/manifests/*.yaml", "../shipped/*/expert.yaml", "../shipped/*/*/expert.yaml", "../training/golden/*/expert.yaml",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	kinds := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.ParseManifest(data)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		kinds[m.Kind]++
		again, err := m.Encode()
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if strings.HasPrefix(file, "..") {
			data = sorted(t, data)
			again = sorted(t, again)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%s is written as\n%s\nand not as\n%s", file, again, data)
		}
	}
	if len(files) < 20 || len(kinds) != 5 {
		t.Errorf("only %d files of %d kinds were found", len(files), len(kinds))
	}
}

// sorted returns the keys of a YAML text in their order, and the value of each, with sorted keys
// and without those that are empty.
func sorted(t *testing.T, text []byte) []byte {
	t.Helper()
	var tree yaml.Node
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	entries := tree.Content[0].Content
	for i := 0; i < len(entries); i += 2 {
		var value any
		if err := entries[i+1].Decode(&value); err != nil {
			t.Fatal(err)
		}
		if !empty(value) {
			fmt.Fprintln(&out, entries[i].Value, value)
		}
	}
	return out.Bytes()
}

// empty reports whether a value says nothing, and removes what is empty in it.
func empty(value any) bool {
	if fields, ok := value.(map[string]any); ok {
		maps.DeleteFunc(fields, func(_ string, v any) bool { return empty(v) })
		return len(fields) == 0
	}
	return value == nil || reflect.ValueOf(value).IsZero()
}
