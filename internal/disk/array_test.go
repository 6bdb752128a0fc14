package disk

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
)

// fullDisk has no room for scratch memory.
type fullDisk struct{ OS }

// MapScratch always fails.
func (fullDisk) MapScratch(string, int64, byte) (*Mapping, error) { return nil, errors.New("no room") }

// TestArray: an array that grows from the process's memory into a file has the values that a slice has, and leaves no
// file. Without room for the file it keeps what it has.
func TestArray(t *testing.T) {
	folder := t.TempDir()
	a := NewList[uint32](OS{}, folder)
	var want []uint32
	for i := range uint32(1_000_000) {
		if err := a.Append(i * i); err != nil {
			t.Fatal(err)
		}
		want = append(want, i*i)
	}
	if a.mapping == nil || !slices.Equal(a.Values(), want) {
		t.Error("other values, or in the process's memory")
	}
	a.Truncate(10)
	if err := a.Append(7); err != nil || !slices.Equal(a.Values(), append(want[:10:10], 7)) {
		t.Errorf("%v, %v", a.Values(), err)
	}
	if err := errors.Join(a.Close(), a.Close()); err != nil || len(a.Values()) > 0 {
		t.Errorf("closed: %v, %v", a.Values(), err)
	}
	for _, n := range []int{0, 5, 3 << 20} {
		filled, err := NewArray[byte](OS{}, folder, n, 0xee)
		if err != nil || bytes.Count(filled.Values(), []byte{0xee}) != n || len(filled.Values()) != n {
			t.Errorf("%d bytes: %v, %v", n, len(filled.Values()), err)
		}
		if err := filled.Close(); err != nil {
			t.Error(err)
		}
	}
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("there are %v, %v", names, err)
	}
	full := NewList[uint64](fullDisk{}, folder)
	n := 0
	for full.Append(uint64(n)) == nil {
		n++
	}
	if n != smallArray/8 || len(full.Values()) != n || full.Values()[n-1] != uint64(n-1) {
		t.Errorf("%d values before the disk is full, %d are there", n, len(full.Values()))
	}
	var none Array[int] // without a disk
	for i := range 1 << 18 {
		if err := none.Append(i); err != nil {
			t.Fatal(err)
		}
	}
	if none.mapping != nil || none.Values()[1<<17] != 1<<17 {
		t.Error("an array without a disk")
	}
}
