package endtoend

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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
	for end := time.Now().Add(2 * time.Minute); kept() < 1<<17; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no vectors are kept")
		}
	}
	_ = first.Process.Kill()
	if err := first.Wait(); err == nil {
		t.Fatal("it ended before it was killed")
	}
	bytesKept := kept()
	said := s.command(args...)
	for _, expert := range []string{"small", "interaction"} {
		if !strings.Contains(said, "expert "+expert+": ") ||
			!strings.Contains(said, "of a run that was interrupted are taken") {
			t.Errorf("it does not go on with %s:\n%s", expert, said)
		}
	}
	perPassage := float64(s.segmentBytes("c", "interaction")) / 6000
	taken := regexp.MustCompile(`expert interaction: ([0-9,]+) vectors`).FindStringSubmatch(said)
	if taken == nil {
		t.Fatalf("it does not say how many vectors it takes:\n%s", said)
	}
	vectors, err := strconv.Atoi(strings.ReplaceAll(taken[1], ",", ""))
	// The version, the length, a bit a token and the checksum come on top; what the kill cut off is not counted.
	if most := float64(vectors+256) * (perPassage + 32); err != nil || float64(bytesKept) > most {
		t.Errorf("%d vectors are kept in %d bytes, of %.0f in the collection, %v", vectors, bytesKept, perPassage, err)
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

// segmentBytes returns the size of an expert's vectors in all segments of a collection.
func (s *site) segmentBytes(collection, expert string) (bytes int64) {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, collection, "seg-*", expert+"-*.vectors"))
	if err != nil || len(found) == 0 {
		s.t.Fatalf("no vectors of %s in %s, %v", expert, collection, err)
	}
	for _, path := range found {
		info, err := os.Stat(path)
		if err != nil {
			s.t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}
