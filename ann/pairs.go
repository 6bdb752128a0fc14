package ann

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"example.org/conclave/ann/graph"
	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

const (
	pairsKind    = "pairs"
	pairsVersion = 1
)

const (
	// pairNumbers is how many numbers of a vector are one pair: the id of a word piece, and its weight.
	pairNumbers = 2
	// codeBits is how many bits of a stored pair are its code; the others are its id.
	codeBits  = 8
	maxPairID = 1<<(32-codeBits) - 1
	maxCode   = 1<<codeBits - 1
	// pairStep is the weight of a code of 1. The weights of SPLADE, log(1 + relu), are below 4.
	pairStep = 1. / 64
)

// pairs is an open file of lists of weights of word pieces, memory-mapped.
//
// The first section is the pairs of all lists, one after the other, uint32: the id, and in the lowest 8 bits the
// code, a weight in steps of pairStep from 1; larger ones count as the largest, and less than half a step is left
// out. A list is in ascending order of ids and may be empty. The second is where they begin: count+1 numbers, the
// last where the last list ends. Parameters are count and pairNumbers.
type pairs struct {
	file    *mapped.File
	count   int
	all     []uint32
	offsets []uint32
	whole   atomic.Bool // the checksums and the offsets were found right
}

// openPairs maps a file that a pairWriter wrote. The caller closes it. It fails if the header is damaged or of
// another kind; Verify checks the rest.
func openPairs(d disk.Disk, path string) (*pairs, error) {
	file, err := mapped.Open(d, path, pairsKind, pairsVersion)
	if err != nil {
		return nil, err
	}
	count := file.Parameter(0)
	if count > graph.MaxRows || file.Parameter(1) != pairNumbers {
		return nil, errors.Join(
			fmt.Errorf("pairs: the header of %s says %d lists, which is not possible: rebuild it", path, count),
			file.Close(),
		)
	}
	p := &pairs{file: file, count: int(count)}
	bytes, err := file.Bytes(0)
	if err == nil {
		p.all, err = mapped.Values[uint32](file, 0, len(bytes)/4)
	}
	if err == nil {
		p.offsets, err = mapped.Values[uint32](file, 1, p.count+1)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return p, nil
}

// Len returns the number of lists.
func (p *pairs) Len() int { return p.count }

// Dimension returns 2, how many numbers a pair has.
func (p *pairs) Dimension() int { return pairNumbers }

// BytesPerVector returns the mean size of a list.
func (p *pairs) BytesPerVector() float64 {
	return float64(4*len(p.all)+4*p.count) / float64(max(p.count, 1))
}

// pairsOf returns the pairs of a list, in place; nil if the ordinal does not exist or the offsets are damaged.
func (p *pairs) pairsOf(o rank.Ordinal) []uint32 {
	if int64(o) >= int64(p.count) {
		return nil
	}
	begin, end := p.offsets[o], p.offsets[o+1]
	if begin > end || uint64(end) > uint64(len(p.all)) {
		return nil
	}
	return p.all[begin:end:end]
}

// Vector returns the ids and weights of a list, in turn, in a new slice; empty if the ordinal does not exist or the
// list is empty. Weights are rounded to steps of pairStep.
func (p *pairs) Vector(o rank.Ordinal) []float32 {
	list := p.pairsOf(o)
	out := make([]float32, 0, pairNumbers*len(list))
	for _, x := range list {
		out = appendPairNumbers(out, x)
	}
	return out
}

// appendPairNumbers appends the id and the weight of a stored pair to out and returns it.
func appendPairNumbers(out []float32, pair uint32) []float32 {
	return append(out, float32(pair>>codeBits), float32(pair&maxCode)*pairStep)
}

// appendPairs appends the pairs of a vector that checkPairs accepts to list, as they are stored, and returns it. Those
// below half a step are left out.
func appendPairs(list []uint32, vector []float32) []uint32 {
	for p := range slices.Chunk(vector, pairNumbers) {
		if code := min(math.Round(float64(p[1])/pairStep), maxCode); code > 0 {
			list = append(list, uint32(p[0])<<codeBits|uint32(code))
		}
	}
	return list
}

// Verify compares the checksums and checks the offsets, unless that was done. It returns a *DamageError, or ctx's
// error if that ends first.
func (p *pairs) Verify(ctx context.Context) error {
	if p.whole.Load() {
		return nil
	}
	err := p.file.Verify(ctx)
	if err == nil && (p.offsets[0] != 0 || !slices.IsSorted(p.offsets) || int(p.offsets[p.count]) != len(p.all)) {
		err = &DamageError{Path: p.file.Path(), What: "its lists do not lie one after the other"}
	}
	p.whole.Store(err == nil)
	return err
}

// Check reads every list and returns an error if a checksum is wrong or a list could not have been appended.
func (p *pairs) Check() error {
	if err := errors.Join(p.file.Check(), p.Verify(context.Background())); err != nil {
		return err
	}
	for i := range p.count {
		if err := checkPairs(p.Vector(rank.Ordinal(i))); err != nil {
			return &DamageError{Path: p.file.Path(), What: fmt.Sprintf("list %d: %v", i, err)}
		}
	}
	return nil
}

// Close unmaps the file. It fails if unmapping does.
func (p *pairs) Close() error { return p.file.Close() }

// checkPairs returns an error unless a vector is a list of pairs: ids of word pieces, ascending, each with a finite
// weight above 0. An empty list is one.
func checkPairs(vector []float32) error {
	if len(vector)%pairNumbers != 0 {
		return fmt.Errorf("it has %d numbers, which are no pairs", len(vector))
	}
	last := float32(-1)
	for p := range slices.Chunk(vector, pairNumbers) {
		if !(p[0] > last && p[0] <= maxPairID) || p[0] != float32(int32(p[0])) {
			return fmt.Errorf("the word piece %v follows %v: ids are whole numbers in ascending order", p[0], last)
		}
		if !(p[1] > 0 && p[1] <= math.MaxFloat32) {
			return fmt.Errorf("the weight of word piece %v is %v: it has to be above 0 and finite", p[0], p[1])
		}
		last = p[0]
	}
	return nil
}

// pairWriter writes a file of pairs.
type pairWriter struct {
	out     *mapped.Writer
	offsets []uint32
	list    []uint32
}

// createPairs begins a file of pairs at path, which appears there only when Close succeeds. It fails if dim is not 2.
func createPairs(d disk.Disk, path string, dim int) (Writer, error) {
	if dim != pairNumbers {
		return nil, fmt.Errorf("pairs have %d numbers, and not %d", pairNumbers, dim)
	}
	out, err := mapped.Create(d, path, pairsKind, pairsVersion)
	if err != nil {
		return nil, err
	}
	return &pairWriter{out: out, offsets: []uint32{0}}, nil
}

// Append adds a list of pairs. Weights are rounded to steps of pairStep: those above maxCode steps count as that, and
// those below half a step are left out. It fails if checkPairs does or the file is full.
func (w *pairWriter) Append(vector []float32) error {
	if err := checkPairs(vector); err != nil {
		return fmt.Errorf("pairs: list %d: %w", w.Len(), err)
	}
	w.list = appendPairs(w.list[:0], vector)
	end := uint64(w.offsets[len(w.offsets)-1]) + uint64(len(w.list))
	if end > math.MaxUint32 || w.Len() == graph.MaxRows {
		return fmt.Errorf("pairs: a file holds at most %d, in %d lists", uint32(math.MaxUint32), graph.MaxRows)
	}
	w.offsets = append(w.offsets, uint32(end))
	return mapped.Append(w.out, w.list)
}

// Len returns the number of lists appended.
func (w *pairWriter) Len() int { return len(w.offsets) - 1 }

// Close makes the file durable and gives it its name. If it fails, nothing is left.
func (w *pairWriter) Close() error {
	if err := errors.Join(w.out.Section(), mapped.Append(w.out, w.offsets)); err != nil {
		w.out.Abort()
		return err
	}
	return w.out.Commit(uint64(w.Len()), pairNumbers)
}

// Abort removes what was written. After Close it does nothing, so it can be deferred.
func (w *pairWriter) Abort() { w.out.Abort() }
