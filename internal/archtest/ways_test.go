package archtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestWaysApply: what each edit of research/bench/ways.json replaces stands once in its file, so that the benchmark of
// what a way brings can be run.
func TestWaysApply(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "research", "bench", "ways.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ways []struct{ Name, File, Before string }
	if err := json.Unmarshal(data, &ways); err != nil {
		t.Fatal(err)
	}
	if len(ways) == 0 {
		t.Error("there are no edits")
	}
	for _, w := range ways {
		source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(w.File)))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := bytes.Count(source, []byte(w.Before)); n != 1 {
			t.Errorf("%s: %s has %q %d times, and should have it once", w.Name, w.File, w.Before, n)
		}
	}
}
