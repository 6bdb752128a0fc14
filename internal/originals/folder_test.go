package originals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/disk"
)

func sumOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// kept returns the names in the folder of copies.
func kept(t *testing.T, collection string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(collection, FolderName))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSweep: a copy goes with its last document, not before, and not while it is put; what an interruption left goes.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(disk.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string]string{} // sums by id
	used := func(context.Context) (map[string]bool, error) {
		all := map[string]bool{}
		for _, sum := range documents {
			all[sum] = true
		}
		return all, nil
	}
	sweep := func() {
		t.Helper()
		if _, err := f.Sweep(context.Background(), used); err != nil {
			t.Fatal(err)
		}
	}
	put := func(id, data string) {
		t.Helper()
		release, err := f.Keep([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		sweep() // before the passages are written
		documents[id] = sumOf(data)
		release()
	}
	put("a", "one")
	put("b", "one")
	put("c", "three")
	delete(documents, "a")
	sweep()
	if got := kept(t, dir); len(got) != 2 || f.Bytes() != 8 {
		t.Errorf("%q, %d bytes", got, f.Bytes())
	}
	delete(documents, "b")
	sweep()
	if got := kept(t, dir); !slices.Equal(got, []string{sumOf("three")}) || f.Bytes() != 5 {
		t.Errorf("%q, %d bytes", got, f.Bytes())
	}
	for _, name := range []string{"tmp-123", sumOf("of nobody")} {
		if err := os.WriteFile(filepath.Join(dir, FolderName, name), []byte("of nobody"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err = Open(disk.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	sweep()
	if got := kept(t, dir); !slices.Equal(got, []string{sumOf("three")}) || f.Bytes() != 5 {
		t.Errorf("after an interruption: %q, %d bytes", got, f.Bytes())
	}
}

// TestSweepWhileKept: copies that come while documents are listed stay, also of files that were there and unused.
func TestSweepWhileKept(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(disk.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := f.Keep([]byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	first() // no document came of it
	removed, err := f.Sweep(context.Background(), func(context.Context) (map[string]bool, error) {
		again, err := f.Keep([]byte("one"))
		again() // its document is written and acknowledged behind what was listed
		return nil, err
	})
	if got := kept(t, dir); removed != 0 || err != nil || len(got) != 1 {
		t.Errorf("%d removed, %v, %q", removed, err, got)
	}
}

// TestKeepAtOnce: several keep the same and other files while others sweep.
func TestKeepAtOnce(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(disk.OS{}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	documents := map[string]string{}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for range 100 {
				id, data := fmt.Sprint(rng.IntN(8)), fmt.Sprint("file ", rng.IntN(5))
				release, err := f.Keep([]byte(data))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				documents[id] = sumOf(data)
				mu.Unlock()
				release()
				if _, err := f.Sweep(context.Background(), func(context.Context) (map[string]bool, error) {
					mu.Lock()
					defer mu.Unlock()
					all := map[string]bool{}
					for _, sum := range documents {
						all[sum] = true
					}
					return all, nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	got := kept(t, dir)
	for _, sum := range documents {
		if !slices.Contains(got, sum) {
			t.Errorf("the copy %s is gone", sum)
		}
	}
	if f.Bytes() != int64(6*len(got)) {
		t.Errorf("%d bytes of %d copies", f.Bytes(), len(got))
	}
}

// recordingDisk notes what makes files durable, and fails at a step.
type recordingDisk struct {
	disk.OS
	dir    string
	steps  []string
	failAt int
}

var errDisk = errors.New("the disk fails")

func (d *recordingDisk) step(what, path string) error {
	rel, _ := filepath.Rel(d.dir, path)
	if strings.Contains(rel, making) {
		rel = "unfinished"
	}
	d.steps = append(d.steps, what+" "+rel)
	if d.failAt == len(d.steps) {
		return errDisk
	}
	return nil
}

func (d *recordingDisk) Rename(from, to string) error {
	if err := d.step("rename", from); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *recordingDisk) SyncDir(path string) error { return d.step("sync", path) }

func (d *recordingDisk) CreateTemp(folder, pattern string) (disk.File, error) {
	f, err := d.OS.CreateTemp(folder, pattern)
	return recordingFile{f, d}, err
}

type recordingFile struct {
	disk.File
	disk *recordingDisk
}

func (f recordingFile) Sync() error { return f.disk.step("sync", f.Name()) }

// TestKeepIsDurable: the bytes are synced before the file has its name, and its name and that of the folder before Keep
// returns; a failure at any step is an error and leaves nothing.
func TestKeepIsDurable(t *testing.T) {
	want := []string{"sync .", "sync unfinished", "rename unfinished", "sync originals"}
	for failAt := range len(want) + 1 {
		dir := t.TempDir()
		d := &recordingDisk{dir: dir, failAt: failAt}
		f, err := Open(d, dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		release, err := f.Keep([]byte("one"))
		if failAt == 0 {
			if err != nil || !slices.Equal(d.steps, want) {
				t.Fatalf("%q %v", d.steps, err)
			}
			release()
			continue
		}
		got := kept(t, dir)
		if !errors.Is(err, errDisk) || failAt < 4 && len(got) > 0 || len(f.uses) > 0 {
			t.Errorf("failing at %q: %v, %q is there", want[failAt-1], err, got)
		}
		// Another try makes it durable.
		d.steps, d.failAt = nil, 0
		if _, err := f.Keep([]byte("one")); err != nil || d.steps[len(d.steps)-1] != "sync originals" {
			t.Errorf("once more: %v %q", err, d.steps)
		}
	}
}

// TestKeepAllows: a file that would be too much is refused, one that is there is not more.
func TestKeepAllows(t *testing.T) {
	dir := t.TempDir()
	var f *Folder
	f, err := Open(disk.OS{}, dir, func(more int64) error {
		if f.Bytes()+more > 5 {
			return errDisk
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]error{"three": nil, "another": errDisk} {
		if _, err := f.Keep([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%s: %v", data, err)
		}
	}
	if _, err := f.Keep([]byte("three")); err != nil {
		t.Error(err)
	}
}
