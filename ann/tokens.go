package ann

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"example.org/conclave/ann/graph"
	"example.org/conclave/ann/kernel"
	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

const (
	tokensKind    = "tokens"
	tokensVersion = 2 // 1 had a byte for each number
)

// tokens is an open file of lists of token vectors, memory-mapped. It does not
// change, so any number of goroutines may read it.
//
// The first section is the blocks of all lists (kernel.EncodeTokens), one list
// after the other, each in blocks of its own. The second is where they begin:
// count+1 numbers of blocks, the last where the last list ends. A list without
// blocks is of a passage without vectors. Parameters are count and dim.
type tokens struct {
	file    *mapped.File
	count   int
	dim     int
	size    int // of a block
	blocks  []byte
	offsets []uint32
	// whole is set once the checksums and the offsets were found right.
	whole atomic.Bool
}

// openTokens maps a file that a tokenWriter wrote. The caller closes it. It fails if the header is damaged or of
// another kind. Its cost does not depend on the number of lists; Verify checks the rest.
func openTokens(d disk.Disk, path string) (*tokens, error) {
	file, err := mapped.Open(d, path, tokensKind, tokensVersion)
	if err != nil {
		return nil, err
	}
	count, dim := file.Parameter(0), file.Parameter(1)
	if count > graph.MaxRows || dim > kernel.MaxTokenDimension || kernel.CheckTokenDimension(int(dim)) != nil {
		return nil, errors.Join(
			fmt.Errorf(
				"token vectors: the header of %s says %d lists of vectors of dimension %d, which is not possible: rebuild it",
				path, count, dim,
			),
			file.Close(),
		)
	}
	t := &tokens{file: file, count: int(count), dim: int(dim), size: kernel.TokenBlockBytes(int(dim))}
	t.blocks, err = file.Bytes(0)
	if err == nil {
		t.offsets, err = mapped.Values[uint32](file, 1, t.count+1)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return t, nil
}

// Len returns the number of lists.
func (t *tokens) Len() int { return t.count }

// Dimension returns the number of elements of a token's vector.
func (t *tokens) Dimension() int { return t.dim }

// BytesPerVector returns the mean size of a list.
func (t *tokens) BytesPerVector() float64 {
	return float64(len(t.blocks)+4*t.count) / float64(max(t.count, 1))
}

// blocksOf returns the blocks of a list, in place and unverified; nil if the list is empty, the ordinal does not exist
// or the offsets are damaged.
func (t *tokens) blocksOf(o rank.Ordinal) []byte {
	if int64(o) >= int64(t.count) {
		return nil
	}
	begin, end := uint64(t.offsets[o])*uint64(t.size), uint64(t.offsets[o+1])*uint64(t.size)
	if begin >= end || end > uint64(len(t.blocks)) {
		return nil
	}
	return t.blocks[begin:end:end]
}

// Vector returns the token vectors of a list in a new slice, with the copies of the last one that fill its block:
// appended again, they give the same bytes. It is nil if the list is empty or there is none.
func (t *tokens) Vector(o rank.Ordinal) []float32 {
	blocks := t.blocksOf(o)
	if blocks == nil {
		return nil
	}
	out := make([]float32, 4*len(blocks)) // a byte has the codes of four elements
	kernel.DecodeTokens(blocks, t.dim, out)
	return out
}

// Verify compares the file's checksums and looks through the offsets, unless that was done. It returns a
// *DamageError, or ctx's error if that ends first; the next call goes on from there.
func (t *tokens) Verify(ctx context.Context) error {
	if t.whole.Load() {
		return nil
	}
	err := t.file.Verify(ctx)
	if err == nil {
		err = t.checkOffsets()
	}
	t.whole.Store(err == nil)
	return err
}

// checkOffsets returns a *DamageError if the lists do not lie one after the other in the file.
func (t *tokens) checkOffsets() error {
	damaged := func(format string, args ...any) error {
		return &DamageError{Path: t.file.Path(), What: fmt.Sprintf(format, args...)}
	}
	if t.offsets[0] != 0 {
		return damaged("the first list begins at block %d", t.offsets[0])
	}
	for i := range t.count {
		if begin, end := t.offsets[i], t.offsets[i+1]; end < begin || end-begin > maxPassageTokens/kernel.BlockTokens {
			return damaged("list %d goes from block %d to block %d", i, begin, end)
		}
	}
	if end := uint64(t.offsets[t.count]) * uint64(t.size); end != uint64(len(t.blocks)) {
		return damaged("its lists have %d bytes and its blocks %d", end, len(t.blocks))
	}
	return nil
}

// Check reads the whole file and returns an error if a checksum is wrong or the lists do not lie one after the other.
// Any bytes are codes.
func (t *tokens) Check() error {
	if err := t.file.Check(); err != nil {
		return err
	}
	return t.checkOffsets()
}

// Close unmaps the file. Nothing may be reading its lists. It fails if unmapping does.
func (t *tokens) Close() error { return t.file.Close() }
