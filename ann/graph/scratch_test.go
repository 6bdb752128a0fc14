package graph

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
)

// scarceDisk has no room for scratch memory after so many times.
type scarceDisk struct {
	disk.OS
	left atomic.Int64
}

// MapScratch fails as on a full disk once left is used up.
func (d *scarceDisk) MapScratch(folder string, size int64, fill byte) (*disk.Mapping, error) {
	if d.left.Add(-1) < 0 {
		return nil, syscall.ENOSPC
	}
	return d.OS.MapScratch(folder, size, fill)
}

// TestBuildInScratch: a graph whose arrays lie in files is sound, with equal vectors too, and the folder has nothing
// but the graph afterwards. Without room for one of the arrays the build fails with the disk's error, and leaves
// nothing.
func TestBuildInScratch(t *testing.T) {
	const n, dim, enough = 12_000, 200, 1000
	floats := randomRows(n, dim, 4)
	copy(floats[n/2*dim:], floats[:n/4*dim])
	rows := kernel.AppendHalves(nil, floats)
	path := filepath.Join(t.TempDir(), "graph")
	p := Params{M: 24, EfConstruction: 24, Seed: 3, Threads: 2}
	d := &scarceDisk{}
	d.left.Store(enough)
	if err := Build(t.Context(), d, path, rows, dim, 5, p); err != nil {
		t.Fatal(err)
	}
	used := enough - d.left.Load()
	if used < 2 {
		t.Fatalf("%d arrays are in files", used)
	}
	file, err := Open(d, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Check(rows), file.Close(), os.Remove(path)); err != nil {
		t.Error(err)
	}
	for without := range used {
		d.left.Store(without)
		if err := Build(t.Context(), d, path, rows, dim, 5, p); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("without room for array %d: %v", without, err)
		}
		if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) > 0 {
			t.Errorf("there are %v, %v", names, err)
		}
	}
}
