package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
)

func write(t testing.TB, path string, sections ...[]uint32) {
	t.Helper()
	w, err := Create(disk.OS{}, path, "numbers", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, s := range sections {
		if i > 0 {
			err = w.Section()
		}
		if err := errors.Join(err, Append(w, s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(7, uint64(len(sections))); err != nil {
		t.Fatal(err)
	}
}

func TestSectionsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	long := make([]uint32, 3<<20) // more than the writer's buffer
	for i := range long {
		long[i] = uint32(i * i)
	}
	sections := [][]uint32{{1, 2, 3}, {}, long, {9}, {}}
	write(t, path, sections...)
	f, err := Open(disk.OS{}, path, "numbers", 3)
	if err != nil {
		t.Fatal(err)
	}
	if f.Sections() != len(sections) || f.Parameter(0) != 7 || f.Parameter(1) != 5 || f.Parameter(2) != 0 ||
		f.Path() != path {
		t.Errorf(
			"%d sections, parameters %d %d %d, path %q",
			f.Sections(),
			f.Parameter(0),
			f.Parameter(1),
			f.Parameter(2),
			f.Path(),
		)
	}
	for i, want := range sections {
		got, err := Values[uint32](f, i, len(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("section %d came back with %d numbers: %v", i, len(got), err)
		}
		for _, wrong := range []int{-1, len(want) + 1, len(want) - 1, 1 << 62} {
			if _, err := Values[uint32](f, i, wrong); err == nil {
				t.Errorf("section %d of %d numbers was read as %d", i, len(want), wrong)
			}
		}
	}
	if _, err := Values[uint32](f, len(sections), 0); err == nil {
		t.Error("a section was read that is not there")
	}
	if err := errors.Join(f.Check(), f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	write(t, path, []uint32{1, 2, 3})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func([]byte) []byte{
		"less than its header":    func(b []byte) []byte { return b[:100] },
		"was cut off":             func(b []byte) []byte { return b[:len(b)-1] },
		"added to":                func(b []byte) []byte { return append(b, 0) },
		"not a file of vectors":   func(b []byte) []byte { b[0]++; return b },
		"header's checksum":       func(b []byte) []byte { b[2000]++; return b },
		"the file has 0 bytes":    func(b []byte) []byte { return nil },
		"the file has 4095 bytes": func(b []byte) []byte { return b[:4095] },
	} {
		if err := os.WriteFile(path, change(slices.Clone(content)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(disk.OS{}, path, "numbers", 3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, open := range map[string]func() (*File, error){
		`holds "numbers", not "letters"`: func() (*File, error) { return Open(disk.OS{}, path, "letters", 3) },
		"version 3":                      func() (*File, error) { return Open(disk.OS{}, path, "numbers", 4) },
		"no such file":                   func() (*File, error) { return Open(disk.OS{}, path+"x", "numbers", 3) },
		"not a regular file":             func() (*File, error) { return Open(disk.OS{}, folder, "numbers", 3) },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// TestCheckSeesWhatOpenDoesNot: damage of the content is Check's to find.
func TestCheckSeesWhatOpenDoesNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, []uint32{1, 2, 3}, []uint32{4})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{pageSize, pageSize + 11, pageSize + 12, 2*pageSize - 1, 2 * pageSize} {
		damaged := slices.Clone(content)
		damaged[at] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(disk.OS{}, path, "numbers", 3)
		if err != nil {
			t.Fatal(err)
		}
		if f.Check() == nil {
			t.Errorf("a bit flipped at %d was not found", at)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOpeningCostsNothing opens a file of a terabyte, with a hole for its
// content: had opening read it, this would not end.
func TestOpeningCostsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	const size = 1 << 40
	head := header{kind: "numbers", version: 3, sections: []section{{offset: pageSize, length: size}}}
	if err := os.WriteFile(path, head.encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, pageSize+size); err != nil {
		t.Skipf("this file system has no files of a terabyte: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := Open(disk.OS{}, path, "numbers", 3)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Skipf("this system does not map a terabyte: %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
		t.Errorf("opening allocated %d bytes", n)
	}
	if v, err := Values[uint32](f, 0, size/4); err != nil || v[len(v)-1] != 0 {
		t.Errorf("the last number: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestFailedWritesLeaveNothing gives the writer a file that takes no more.
func TestFailedWritesLeaveNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	w, err := Create(disk.OS{}, path, "numbers", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.file.Close(); err != nil { // as a full disk, it refuses
		t.Fatal(err)
	}
	failed := Append(w, make([]uint32, 2*bufferSize))
	if failed == nil {
		failed = w.Commit()
	}
	if failed == nil || !strings.Contains(failed.Error(), path) {
		t.Errorf("writing to a file that takes nothing: %v", failed)
	}
	w.Abort()
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("the folder holds %v", left)
	}
	if _, err := Create(disk.OS{}, filepath.Join(folder, "missing", "f"), "numbers", 3); err == nil {
		t.Error("a file was created in a folder that is not there")
	}
}
