package collection

import (
	"context"
	"fmt"
	"math"

	"conclave/ann"
	"conclave/corpus"
	"conclave/disk"
	"conclave/rank"
)

// encodedBy makes vectors with an encoder.
func encodedBy(encoder PassageEncoder, o BuildOptions) vectorMaker {
	return func(ctx context.Context, d disk.Disk, path string, store passages, x expertManifest, r *reporter) error {
		return encode(ctx, d, path, store, x, encoder, o, r)
	}
}

// encode writes the vectors of a segment's passages in the order of their
// ordinals, a batch at a time.
func encode(ctx context.Context, d disk.Disk, path string, store passages, x expertManifest, encoder PassageEncoder, o BuildOptions, r *reporter) error {
	to, err := ann.Create(d, x.Index.Kind, path, x.Dimension)
	if err != nil {
		return err
	}
	out := vectorFile{expert: x, to: to}
	defer out.abort()
	err = eachBatch(ctx, store, x.Name, o, r, func(batch []corpus.Passage) error {
		vectors, err := encoder.EncodePassages(ctx, batch)
		if err != nil {
			return err
		}
		return out.append(batch, vectors)
	})
	if err != nil {
		return err
	}
	return out.close()
}

// eachBatch gives the passages of a store to encode, in order. name is what
// people are shown.
func eachBatch(ctx context.Context, store passages, name string, o BuildOptions, r *reporter, encode func([]corpus.Passage) error) error {
	progress := func(done int) {
		r.report(Progress{Stage: Encoding, Expert: name, Done: int64(done), Total: int64(store.Len()), Unit: "passages"})
	}
	batch := make([]corpus.Passage, 0, o.batchPassages)
	for done := 0; done < store.Len(); done += len(batch) {
		progress(done)
		batch = batch[:0]
		for i := done; i < min(done+o.batchPassages, store.Len()); i++ {
			p, err := store.Passage(rank.Ordinal(i))
			if err != nil {
				return err
			}
			batch = append(batch, p)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := encode(batch); err != nil {
			return fmt.Errorf("encoding passages %q to %q: %w", batch[0].ID, batch[len(batch)-1].ID, err)
		}
	}
	progress(store.Len())
	return nil
}

// vectorFile is where an expert's vectors go.
type vectorFile struct {
	expert expertManifest
	to     ann.Writer
	closed bool
}

// append writes the vectors of a batch of passages.
func (f *vectorFile) append(batch []corpus.Passage, vectors [][]float32) error {
	if len(vectors) != len(batch) {
		return fmt.Errorf("the encoder gave %d vectors for %d passages", len(vectors), len(batch))
	}
	for i, v := range vectors {
		if err := checkVector(v, f.expert); err != nil {
			return fmt.Errorf("the vector of passage %q %w", batch[i].ID, err)
		}
		if err := f.to.Append(v); err != nil {
			return err
		}
	}
	return nil
}

func (f *vectorFile) close() error {
	f.closed = true
	return f.to.Close()
}

// abort drops what was written, unless the file was closed or never begun.
func (f *vectorFile) abort() {
	if f.to != nil && !f.closed {
		f.to.Abort()
	}
}

func checkVector(v []float32, x expertManifest) error {
	switch late := x.Index.Kind == ann.Late; {
	case late && (len(v) == 0 || len(v)%x.Dimension != 0):
		return fmt.Errorf("has %d numbers, which is no list of vectors of %d", len(v), x.Dimension)
	case !late && len(v) != x.Dimension:
		return fmt.Errorf("has %d numbers, the expert says %d", len(v), x.Dimension)
	}
	for i, value := range v {
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			return fmt.Errorf("has %v as number %d", value, i)
		}
	}
	return nil
}
