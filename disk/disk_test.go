package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// broken is a disk of which one operation fails.
type broken struct {
	OS
	operation string
}

var errBroken = errors.New("broken")

func (b broken) Rename(from, to string) error {
	if b.operation == "rename" {
		return errBroken
	}
	return b.OS.Rename(from, to)
}

func (b broken) SyncDir(path string) error {
	if b.operation == "sync folder" {
		return errBroken
	}
	return b.OS.SyncDir(path)
}

// TestReplace: a file is there as it was or as it is to be, and nothing else is.
func TestReplace(t *testing.T) {
	for operation, want := range map[string]string{"": "new", "rename": "old", "sync folder": "new", "abort": "old"} {
		folder := t.TempDir()
		path := filepath.Join(folder, "file")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := Replace(broken{operation: operation}, path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if operation == "abort" {
			file.Abort()
		} else if err := file.Commit(); (operation == "") != (err == nil) || err != nil && !errors.Is(err, errBroken) {
			t.Errorf("%q: %v", operation, err)
		}
		file.Abort()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q: the file has %q, %v", operation, got, err)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
			t.Errorf("%q: the folder has %v, %v", operation, entries, err)
		}
	}
}

func TestMap(t *testing.T) {
	folder := t.TempDir()
	for _, content := range []string{"", "content"} {
		path := filepath.Join(folder, "file"+content)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := OS{}.Map(path)
		if err != nil || string(m.Data) != content {
			t.Fatalf("%q, %v", m.Data, err)
		}
		for range 2 {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := (OS{}).Map(folder); err == nil {
		t.Error("a folder was mapped")
	}
	if _, err := (OS{}).Map(filepath.Join(folder, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
