package bm25

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
)

// TestCheckFindsWhatIsSigned changes numbers of a file and puts its checksums
// right: nothing but Check can tell. A block whose bound is too low is passed
// over, and its passages are missing from answers without an error; an impact is
// what a score is made of.
func TestCheckFindsWhatIsSigned(t *testing.T) {
	file := smallSegment(t, false)
	path := filepath.Join(t.TempDir(), "words")
	put(t, path, sign(slices.Clone(file)))
	x, err := Open(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.check(); err != nil {
		t.Fatal(err)
	}
	sections := x.sections
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	// Bounds are ranks, of which there are so many.
	le := binary.LittleEndian
	most := uint32(sections[sectionImpacts].length/impactSize) - 1
	bound := func(b []byte) {
		if high := le.Uint32(b); high == most {
			le.PutUint32(b, high-1)
		} else {
			le.PutUint32(b, high+1)
		}
	}
	lower := func(b []byte) {
		if high := le.Uint32(b); high > 0 {
			le.PutUint32(b, high-1)
		} else {
			le.PutUint32(b, 1)
		}
	}
	more := func(b []byte) { le.PutUint32(b, le.Uint32(b)+1) }
	for _, c := range []struct {
		name     string
		section  int
		size, at uint64
		but      uint64 // records at the end: the last of terms closes the one before
		change   func(b []byte)
	}{
		{"a block's bound, higher", sectionBlocks, blockSize, 8, 0, bound},
		{"a block's bound, lower", sectionBlocks, blockSize, 8, 0, lower},
		{"a term's bound, higher", sectionTerms, termSize, 20, 1, bound},
		{"a term's bound, lower", sectionTerms, termSize, 20, 1, lower},
		{"an impact's term frequency", sectionImpacts, impactSize, 0, 0, more},
		{"an impact's length", sectionImpacts, impactSize, 4, 0, more},
		{"an impact's count", sectionImpacts, impactSize, 8, 0, more},
	} {
		n := sections[c.section].length/c.size - c.but
		if n == 0 {
			t.Fatalf("%s: there is none", c.name)
		}
		for i := range n {
			changed := slices.Clone(file)
			c.change(changed[sections[c.section].offset+i*c.size+c.at:])
			put(t, path, sign(changed))
			x, err := Open(disk.OS{}, path)
			if err != nil {
				t.Fatalf("%s (%d of %d) is not believed: %v", c.name, i, n, err)
			}
			var damage *DamageError
			if err := x.check(); !errors.As(err, &damage) || damage.Path != path {
				t.Errorf("%s (%d of %d): Check says %v", c.name, i, n, err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
