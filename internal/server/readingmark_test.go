package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadingMark: a file whose reading was interrupted twice is not read again, whatever was read in between,
// and an end in order is no interruption.
func TestReadingMark(t *testing.T) {
	at := filepath.Join(t.TempDir(), "job.work")
	begin := func(m *readingMark, file int, want bool) {
		t.Helper()
		if got, err := m.beginFile(file); err != nil || got != want {
			t.Errorf("file %d: %v, %v", file, got, err)
		}
	}
	first := openReadingMark(at)
	begin(first, 0, true)
	begin(first, 1, true) // killed
	second := openReadingMark(at)
	begin(second, 0, true)
	begin(second, 1, true)
	if err := second.endFile(); err != nil { // in order
		t.Fatal(err)
	}
	third := openReadingMark(at)
	begin(third, 0, true)
	begin(third, 1, true) // killed
	fourth := openReadingMark(at)
	begin(fourth, 0, true) // killed, in another file
	fifth := openReadingMark(at)
	begin(fifth, 0, true)
	begin(fifth, 1, false)
	begin(fifth, 2, true)
	if err := os.WriteFile(at, []byte("{rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(openReadingMark(at), 1, true)
	begin(openReadingMark(""), 1, true)
}
