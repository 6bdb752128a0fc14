package endtoend

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestIndexingGoesOn kills a command that indexes with experts of its own, of which one is of late interaction: the
// same command says how many vectors it takes of the killed one, and makes what an undisturbed one makes. Nothing is
// left in the cache.
func TestIndexingGoesOn(t *testing.T) {
	var lines strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&lines, "{\"id\":\"p%d\",\"text\":\"the lamp of house %d burns, and that of house %d does not\"}\n", i, i, i*7)
	}
	s := newSite(t, "", []string{"small", "interaction"}, "small,interaction", lines.String())
	args := []string{"index", "--collection", "killed", "--in", "passages.jsonl", "--experts", "small,interaction"}
	first := exec.Command(s.path, args...)
	first.Env = environment()
	first.Dir = s.dir
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	kept := func() (bytes int64) {
		found, err := filepath.Glob(filepath.Join(s.dir, "cache", "unfinished", "*", "interaction.vectors"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil {
				bytes += info.Size()
			}
		}
		return bytes
	}
	for end := time.Now().Add(2 * time.Minute); kept() < 1<<20; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no vectors are kept")
		}
	}
	_ = first.Process.Kill()
	if err := first.Wait(); err == nil {
		t.Fatal("it ended before it was killed")
	}
	said := s.command(args...)
	for _, expert := range []string{"small", "interaction"} {
		if !strings.Contains(said, "expert "+expert+": ") ||
			!strings.Contains(said, "of a run that was interrupted are taken") {
			t.Errorf("it does not go on with %s:\n%s", expert, said)
		}
	}
	want, got := s.exported("c"), s.exported("killed")
	if len(want) < 2 || len(got) != len(want) {
		t.Fatalf("exported: %d files and %d", len(want), len(got))
	}
	for file := range want {
		if filepath.Ext(file) == ".npy" {
			nearVectors(t, file, got[file], want[file])
		} else if !bytes.Equal(want[file], got[file]) {
			t.Errorf("%s: %d bytes, not the same as %d bytes", file, len(got[file]), len(want[file]))
		}
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, "cache", "unfinished", "*")); err != nil || len(left) > 0 {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
	// Vectors of a collection whose folder is gone go with the next run.
	gone := filepath.Join(s.dir, "cache", "unfinished", "0123")
	put(t, filepath.Join(gone, "collection"), filepath.Join(s.dir, "nothing"))
	s.command("index", "--collection", "another", "--in", "passages.jsonl", "--experts", "none")
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("vectors of a collection that is gone: %v", err)
	}
}
