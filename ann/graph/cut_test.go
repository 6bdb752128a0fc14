package graph

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
)

// TestBuildOfACutFile: rows in a mapped file that was cut fail the build that
// reads them, in whichever goroutine, and not the process.
func TestBuildOfACutFile(t *testing.T) {
	const rows, dim = 5000, 16
	path := filepath.Join(t.TempDir(), "rows")
	data := make([]byte, 2*rows*dim)
	values := unsafe.Slice((*kernel.Half)(unsafe.Pointer(&data[0])), rows*dim)
	kernel.AppendHalves(values[:0], randomRows(rows, dim, 7))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := disk.OS{}.Map(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	b := newBuilder(scratch{}, dim, Params{M: 8, EfConstruction: 40, Threads: 3})
	mapped := unsafe.Slice((*kernel.Half)(unsafe.Pointer(&m.Data[0])), rows*dim)
	// The caller's goroutine, which survives on its own, does the first part.
	if err := errors.Join(b.groupEqual(mapped, 1), b.allocate()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if err := b.quantiseRows(t.Context(), mapped); !errors.Is(err, disk.ErrFault) {
		t.Errorf("%v, want %v", err, disk.ErrFault)
	}
}
