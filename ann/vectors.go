package ann

import (
	"context"
	"errors"
	"fmt"
	"math"

	"example.org/conclave/ann/graph"
	"example.org/conclave/ann/kernel"
	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

const (
	vectorsKind    = "vectors"
	vectorsVersion = 2
)

// maxDimension is the largest number of elements of a vector.
const maxDimension = graph.MaxDimension

// Vectors is an open file of vectors of one dimension, memory-mapped. Their elements have half precision. It does not
// change, so any number of goroutines may read it.
type Vectors struct {
	file    *mapped.File
	kernels *kernel.Set
	count   int
	dim     int
	rows    []kernel.Half // count × dim
}

// openVectors maps a file that a vectorWriter wrote. The caller closes it. It fails if the header is damaged or of
// another kind. Its cost does not depend on the number of vectors; Verify checks the rest.
func openVectors(d disk.Disk, path string) (*Vectors, error) {
	file, err := mapped.Open(d, path, vectorsKind, vectorsVersion)
	if err != nil {
		return nil, err
	}
	count, dim := file.Parameter(0), file.Parameter(1)
	if dim < 1 || dim > maxDimension || count > graph.MaxRows {
		return nil, errors.Join(
			fmt.Errorf(
				"vectors: the header of %s says %d vectors of dimension %d, which is not possible: rebuild it", path,
				count, dim,
			),
			file.Close(),
		)
	}
	rows, err := mapped.Values[kernel.Half](file, 0, int(count*dim))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Vectors{file: file, kernels: kernel.Best(), count: int(count), dim: int(dim), rows: rows}, nil
}

// Len returns the number of vectors.
func (v *Vectors) Len() int { return v.count }

// Dimension returns the number of elements of a vector.
func (v *Vectors) Dimension() int { return v.dim }

// Vector returns a copy of a stored vector, unverified. It panics for an ordinal that does not exist.
func (v *Vectors) Vector(o rank.Ordinal) []float32 {
	return kernel.AppendFloats(make([]float32, 0, v.dim), v.rows[int(o)*v.dim:(int(o)+1)*v.dim])
}

// Stamp returns a number that changes with the file's content, as far as checksums can tell. A graph stores that of its
// vectors.
func (v *Vectors) Stamp() uint64 { return uint64(v.file.Sum())<<32 | uint64(uint32(v.count)) }

// Verify compares the file's checksums, unless that was done. It returns a *DamageError, or ctx's error if that ends
// first; the next call goes on from there.
func (v *Vectors) Verify(ctx context.Context) error { return v.file.Verify(ctx) }

// Scores writes the inner products of a query with the vectors of ordinals to out, which must be as long. It writes
// NaN for an ordinal that does not exist, a query of another dimension and a damaged file.
func (v *Vectors) Scores(query []float32, ordinals []rank.Ordinal, out []float32) {
	usable := len(query) == v.dim && v.Verify(context.Background()) == nil
	var ids [128]uint32 // in the kernel's terms, on the stack
	for len(ordinals) > 0 {
		n := min(len(ids), len(ordinals))
		known := usable
		for i, o := range ordinals[:n] {
			ids[i] = uint32(o)
			known = known && int64(o) < int64(v.count)
		}
		if known {
			v.kernels.DotGather(query, v.rows, ids[:n], out)
		} else {
			v.scoresOfSome(query, ordinals[:n], out, usable)
		}
		ordinals, out = ordinals[n:], out[n:]
	}
}

// Products writes to out, which must be as long as vectors, the inner products of query with vectors that are in no
// index. They are the same, to the last bit, as an index of these vectors would give if their elements have half
// precision. It panics for a vector of another length than query.
func Products(query []float32, vectors [][]float32, out []float32) {
	kernels := kernel.Best()
	for i, v := range vectors {
		out[i] = kernels.Dot(query, v)
	}
}

// scoresOfSome writes the inner products of a query with the vectors of ordinals to out, NaN for an ordinal that does
// not exist, and NaN for all if usable is false.
func (v *Vectors) scoresOfSome(query []float32, ordinals []rank.Ordinal, out []float32, usable bool) {
	for i, o := range ordinals {
		out[i] = float32(math.NaN())
		if usable && int64(o) < int64(v.count) {
			v.kernels.DotGather(query, v.rows, []uint32{uint32(o)}, out[i:i+1])
		}
	}
}

// Check reads the whole file and returns an error if a checksum is wrong or a vector could not have been appended.
func (v *Vectors) Check() error {
	if err := v.file.Check(); err != nil {
		return err
	}
	for i := range v.count {
		if err := checkHalves(v.rows[i*v.dim:][:v.dim], v.Vector(rank.Ordinal(i))); err != nil {
			return fmt.Errorf("vectors: vector %d of %s: %w", i, v.file.Path(), err)
		}
	}
	return nil
}

// Close unmaps the file. Nothing may be reading its vectors. It fails if unmapping does.
func (v *Vectors) Close() error { return v.file.Close() }

// vectorWriter writes a file of vectors.
type vectorWriter struct {
	out    *mapped.Writer
	dim    int
	count  int
	halves []kernel.Half // of the last vector
}

// createVectors begins a file of vectors of dim elements at path, which appears there only when Close succeeds. It
// fails for a dimension that is not from 1 to maxDimension.
func createVectors(d disk.Disk, path string, dim int) (Writer, error) {
	if dim < 1 || dim > maxDimension {
		return nil, fmt.Errorf("vectors: dimension %d; between 1 and %d is possible", dim, maxDimension)
	}
	out, err := mapped.Create(d, path, vectorsKind, vectorsVersion)
	if err != nil {
		return nil, err
	}
	return &vectorWriter{out: out, dim: dim}, nil
}

// Append adds a vector to the file, its elements rounded to half precision. It fails if the vector has another
// dimension, an element is not finite or larger than half precision allows, or the file is full.
func (w *vectorWriter) Append(vector []float32) error {
	if len(vector) != w.dim {
		return fmt.Errorf("vectors: vector %d has %d elements, the file is of dimension %d", w.count, len(vector), w.dim)
	}
	w.halves = kernel.AppendHalves(w.halves[:0], vector)
	if err := checkHalves(w.halves, vector); err != nil {
		return fmt.Errorf("vectors: vector %d: %w", w.count, err)
	}
	if w.count == graph.MaxRows {
		return fmt.Errorf("vectors: a file holds at most %d vectors", graph.MaxRows)
	}
	w.count++
	return mapped.Append(w.out, w.halves)
}

// RoundVector returns a vector with its elements rounded to half precision, as indexes keep them. It fails if an
// element is not finite or larger than half precision allows.
func RoundVector(vector []float32) ([]float32, error) {
	halves := kernel.AppendHalves(nil, vector)
	if err := checkHalves(halves, vector); err != nil {
		return nil, err
	}
	return kernel.AppendFloats(make([]float32, 0, len(vector)), halves), nil
}

// checkHalves returns an error if one of halves is not finite. vector has the numbers that they were rounded from.
func checkHalves(halves []kernel.Half, vector []float32) error {
	for i, h := range halves {
		if !h.IsFinite() {
			return fmt.Errorf(
				"element %d is %v; every element must be a finite number of at most %d, the largest of half precision", i,
				vector[i], kernel.MaxHalf,
			)
		}
	}
	return nil
}

// Len returns the number of vectors appended.
func (w *vectorWriter) Len() int { return w.count }

// Close makes the file durable and gives it its name. If it fails, nothing is left.
func (w *vectorWriter) Close() error { return w.out.Commit(uint64(w.count), uint64(w.dim)) }

// Abort removes what was written. After Close it does nothing, so it can be deferred.
func (w *vectorWriter) Abort() { w.out.Abort() }

// Writer writes the file of an index's vectors, one after the other. It is not
// safe for concurrent use.
type Writer interface {
	// Append adds a vector; its ordinal is the number of those before it.
	Append(vector []float32) error
	// Len is the number of vectors appended.
	Len() int
	// Close makes the file durable and gives it its name. When it fails, nothing
	// is left.
	Close() error
	// Abort removes what was written. After Close it does nothing, so it can be
	// deferred.
	Abort()
}

// Create begins the file of vectors of an index of a kind. dim is how many elements a vector has, or a token's vector
// if the kind's vectors are lists of these. The file appears at path only when Close succeeds. It fails for an unknown
// kind and an impossible dimension.
func Create(d disk.Disk, kind, path string, dim int) (Writer, error) {
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	if k.Tokens {
		return createTokens(d, path, dim)
	}
	if k.Pairs {
		return createPairs(d, path, dim)
	}
	return createVectors(d, path, dim)
}
