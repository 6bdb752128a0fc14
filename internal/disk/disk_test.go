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

// TestChunks: a flipped bit is an error of the chunk that it is in, and of no
// other; right chunks are compared once.
func TestChunks(t *testing.T) {
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(i * i)
	}
	s := NewChunkSums(6)
	for from := 0; from < len(data); from += 37 { // however it is written
		_, _ = s.Write(data[from:min(from+37, len(data))])
	}
	sums := s.Sums()
	if n := (len(data) + 63) / 64; len(sums) != 8*n {
		t.Fatalf("%d bytes of checksums, want 8 for each of %d chunks", len(sums), n)
	}
	for bad := range data {
		data[bad] ^= 4
		c := NewChunks(data, sums, 6)
		for at := range uint64(len(data)) {
			if err := c.Verify(at, at+1); (err != nil) != (int(at)/64 == bad/64) {
				t.Fatalf("byte %d is wrong, reading byte %d: %v", bad, at, err)
			}
		}
		if err := c.Verify(0, uint64(len(data))); err == nil || c.Verified() != len(sums)/8-1 {
			t.Fatalf("%v, %d chunks were right", err, c.Verified())
		}
		data[bad] ^= 4
	}
}

func TestLabel(t *testing.T) {
	labelled := Label("job", 3, []byte("text\nmore"))
	if want := "conclave job 3 xxh3 " + Sum([]byte("text\nmore")) + "\ntext\nmore"; string(labelled) != want {
		t.Errorf("%q, want %q", labelled, want)
	}
	if text, err := Unlabel("job", 3, labelled); err != nil || string(text) != "text\nmore" {
		t.Errorf("%q, %v", text, err)
	}
	for what, data := range map[string][]byte{"": nil, "cut": labelled[:len(labelled)-1], "foreign": []byte("{}")} {
		if _, err := Unlabel("job", 3, data); err == nil {
			t.Errorf("%q was accepted", what)
		}
	}
	for kind, format := range map[string]int{"manifest": 3, "job": 4} {
		if _, err := Unlabel(kind, format, labelled); err == nil {
			t.Errorf("%s %d was accepted", kind, format)
		}
	}
}
