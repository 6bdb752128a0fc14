package folder

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// encodedBy returns a vectorMaker that computes the vectors with an encoder.
func encodedBy(encoder store.PassageEncoder, o store.BuildOptions) vectorMaker {
	return func(ctx context.Context, d disk.Disk, to vectorPaths, texts passages, x manifest.Expert, r *reporter) error {
		return encode(ctx, d, to, texts, x, encoder, o, r)
	}
}

// encode computes the vectors of a segment's passages and writes them to the files to, in the order of the ordinals, a
// batch at a time. It fails if the encoder or writing does, or ctx ends; then there are no files.
func encode(
	ctx context.Context,
	d disk.Disk,
	to vectorPaths,
	texts passages,
	x manifest.Expert,
	encoder store.PassageEncoder,
	o store.BuildOptions,
	r *reporter,
) error {
	out, err := createVectors(d, to, x)
	if err != nil {
		return err
	}
	defer out.abort()
	err = eachBatch(ctx, texts, x.Name, o, r, func(batch []corpus.Passage) (err error) {
		if x.Parts {
			batch, err = out.cut(encoder, batch)
			if err != nil {
				return err
			}
		} else {
			w := windowed(encoder, batch)
			vectors, err := encodeChunks(ctx, encoder, w.texts, o.BatchPassages)
			if err != nil {
				return err
			}
			return out.appendWindowed(w, vectors)
		}
		for some := range slices.Chunk(batch, o.BatchPassages) {
			vectors, err := encoder.EncodePassages(ctx, some)
			if err != nil {
				return err
			}
			if err := out.append(some, vectors); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.close()
}

// eachBatch calls encode with all passages in order, at most o.BatchPassages at a time. The slice is reused. name is
// the expert's name for progress reports. It stops at the first error of texts or encode, and if ctx ends.
func eachBatch(
	ctx context.Context,
	texts passages,
	name string,
	o store.BuildOptions,
	r *reporter,
	encode func([]corpus.Passage) error,
) error {
	progress := func(done int) {
		r.report(store.Progress{Stage: store.Encoding, Expert: name, Done: int64(done), Total: int64(texts.Len()), Unit: "passages"})
	}
	batch := make([]corpus.Passage, 0, o.BatchPassages)
	for done := 0; done < texts.Len(); done += len(batch) {
		progress(done)
		batch = batch[:0]
		for i := done; i < min(done+o.BatchPassages, texts.Len()); i++ {
			p, err := texts.Passage(rank.Ordinal(i))
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
	progress(texts.Len())
	return nil
}

// vectorFile writes the vectors of one expert for one segment.
type vectorFile struct {
	expert manifest.Expert
	to     ann.Writer
	// parts says which rows are whose; nil: each passage has one vector, or one list of vectors
	parts *ann.PartsWriter
	// windowed: some passage has several rows, or none, although the expert has no Parts; else the file of parts is not
	// kept
	windowed bool
	closed   bool
}

// hasLists reports whether a passage has one row with a list of vectors, as those of late and sparse experts have.
func (f *vectorFile) hasLists() bool {
	return f.expert.Index.Kind == ann.Late || f.expert.Index.Kind == ann.Sparse
}

// createVectors creates the file of an expert's vectors, and that of its parts unless passages have lists of vectors.
// The caller calls close or abort. It fails, and leaves no file, if one cannot be created.
func createVectors(d disk.Disk, to vectorPaths, x manifest.Expert) (f vectorFile, err error) {
	f.expert = x
	f.to, err = ann.Create(d, x.Index.Kind, to.vectors, x.Dimension)
	if err != nil || f.hasLists() {
		return f, err
	}
	f.parts, err = ann.CreateParts(d, to.parts)
	if err != nil {
		f.to.Abort()
	}
	return f, err
}

// cut writes the parts of passages to the file of parts, and returns a passage to encode for each part, in order. It
// fails if the encoder's parts do not lie in the text (store.Cut), or the file cannot be written.
func (f *vectorFile) cut(encoder store.PassageEncoder, batch []corpus.Passage) (texts []corpus.Passage, err error) {
	for _, p := range batch {
		parts, spans, err := store.Cut(encoder, p)
		if err != nil {
			return nil, err
		}
		if err := f.parts.Append(spans); err != nil {
			return nil, err
		}
		texts = append(texts, parts...)
	}
	return texts, nil
}

// checkVectors returns an error unless vectors has one valid vector of the expert for each passage of a batch.
func (f *vectorFile) checkVectors(batch []corpus.Passage, vectors [][]float32) error {
	if f.expert.Index.Kind == ann.Sparse {
		return store.CheckLists(vectors, batch, f.expert.Dimension)
	}
	return store.CheckVectors(vectors, batch, f.expert.Dimension, f.expert.Index.Kind == ann.Late)
}

// append writes the vectors of a batch of passages, or of their parts, in order. It returns an error and writes
// nothing if they do not fit the expert (checkVectors).
func (f *vectorFile) append(batch []corpus.Passage, vectors [][]float32) error {
	if err := f.checkVectors(batch, vectors); err != nil {
		return err
	}
	for _, v := range vectors {
		if err := f.to.Append(v); err != nil {
			return err
		}
	}
	return nil
}

// copy writes the vectors and parts of passage o of an existing index as those of the next passage. It fails if the
// files cannot be written.
func (f *vectorFile) copy(from ann.Index, o rank.Ordinal) error {
	vector := from.Vector(o)
	if f.parts == nil {
		return f.to.Append(vector)
	}
	spans := []rank.Span{{}} // of a passage that has one vector
	if grouped, ok := from.(*ann.GroupedIndex); ok {
		spans = grouped.Spans(o)
	}
	if f.expert.Parts {
		if err := f.parts.Append(spans); err != nil {
			return err
		}
	} else if err := f.appendSpans(windowsIn(spans)); err != nil {
		return err
	}
	for row := range slices.Chunk(vector, f.expert.Dimension) {
		if err := f.to.Append(row); err != nil {
			return err
		}
	}
	return nil
}

// close completes the files, so that abort does nothing. The file of parts is removed if each passage has one row.
// It fails if one cannot be completed.
func (f *vectorFile) close() error {
	f.closed = true
	err := f.to.Close()
	if f.parts == nil {
		return err
	}
	if err != nil || !f.expert.Parts && !f.windowed {
		f.parts.Abort()
		return err
	}
	return f.parts.Close()
}

// abort removes the files, unless close was called or there are none.
func (f *vectorFile) abort() {
	if f.to == nil || f.closed {
		return
	}
	f.to.Abort()
	if f.parts != nil {
		f.parts.Abort()
	}
}
