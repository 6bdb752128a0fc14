package bm25

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/disk"
)

// countingDisk counts the temporary files by the beginnings of their names.
type countingDisk struct {
	disk.OS
	made map[string]int
}

func (d countingDisk) CreateTemp(folder, pattern string) (disk.File, error) {
	d.made[pattern]++
	return d.OS.CreateTemp(folder, pattern)
}

// TestManyTermsAreSpooled: a segment of so many terms that what is known of them goes to temporary files is the one
// that is made in memory, byte for byte, and no file is left.
func TestManyTermsAreSpooled(t *testing.T) {
	dir := t.TempDir()
	params := DefaultParams()
	params.Phrases = true
	params.Analysis = forms.Unicode
	spilling, whole := NewBuilder(params), NewBuilder(params)
	counting := countingDisk{made: map[string]int{}}
	spilling.SpillTo(counting, dir, 1<<20)
	for i := range 4000 {
		var text strings.Builder
		for j := range 20 {
			fmt.Fprintf(&text, "w%dx%d common ", i, j)
		}
		for _, b := range []*Builder{spilling, whole} {
			if err := b.Add("title", text.String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got, want bytes.Buffer
	for b, out := range map[*Builder]*bytes.Buffer{spilling: &got, whole: &want} {
		if _, err := b.WriteTo(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d bytes, and %d otherwise", got.Len(), want.Len())
	}
	if counting.made["bm25-part-*"] < 2 || counting.made["bm25-spool-*"] != 1 {
		t.Errorf("temporary files: %v", counting.made)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}
