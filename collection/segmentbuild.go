package collection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"conclave/bm25"
	"conclave/corpus"
	"conclave/disk"
	"conclave/rank"
)

const (
	storeName = "passages"
	wordsName = "words"
	tagsName  = "tags"
)

// addSegment makes a segment from the passages of source and publishes it, with
// the words and experts of plan. Everything is made in a temporary folder; one
// rename gives it its name, another one publishes it.
func (w *Writer) addSegment(ctx context.Context, plan *manifest, source Source, o BuildOptions) (report Report, err error) {
	r := &reporter{to: o.Progress}
	made := w.draft()
	defer made.discard()
	s, store, err := w.makeSegment(ctx, made, plan, o.Experts, o, r, func(dir string) error {
		passages, skipped, err := w.readInto(ctx, dir, source, o, r)
		report.Skipped = skipped
		if total := plan.passages() + passages; err == nil && uint64(total) > uint64(^rank.Ordinal(0)) {
			err = fmt.Errorf("a collection holds %d passages at most, these would be %d", ^rank.Ordinal(0), total)
		}
		return err
	})
	if err != nil {
		return report, err
	}
	defer func() { _ = store.Close() }() // was only read
	m, err := w.publish(ctx, made, func(m *manifest) error {
		if o.Replace {
			var err error
			if report.Replaced, err = w.bury(ctx, made, m, ids(store)); err != nil {
				return err
			}
		}
		if m.Generation > 1 && m.Words != plan.Words {
			return errWordsChanged
		}
		m.Words, m.Experts = plan.Words, plan.Experts
		m.Segments = append(m.Segments, s)
		return nil
	})
	if err != nil {
		return report, err
	}
	report.Generation, report.Segment, report.Passages = m.Generation, s.Name, s.Passages
	report.Recall = map[string]Recall{}
	for _, x := range s.Experts {
		report.Recall[x.Name] = x.Recall
	}
	for _, f := range s.files() {
		report.Bytes += f.Size
	}
	return report, nil
}

// ids are the ids of a store, in order. An id that cannot be read ends them;
// who needs to know reads it again.
func ids(store *corpus.Store) iter.Seq[string] {
	return func(yield func(string) bool) {
		for o := range rank.Ordinal(store.Len()) {
			id, err := store.ID(o)
			if err != nil || !yield(id) {
				return
			}
		}
	}
}

// segmentMaker says where the content of a segment comes from: texts are
// analysed and encoded, but a merge has their words and vectors already.
type segmentMaker struct {
	// passages puts the passages into the folder that the segment is made in.
	passages func(dir string) error
	words    func(ctx context.Context, dir string, store *corpus.Store, r *reporter) error
	vectors  map[string]vectorMaker // by expert
}

// vectorMaker makes the vectors of an expert for the passages of a store: an
// encoder does it from their texts, a merge has them already.
type vectorMaker func(ctx context.Context, d disk.Disk, path string, store *corpus.Store, x expertManifest, r *reporter) error

// makeSegment makes a segment that is complete, durable and has its name, but
// is not published: fill puts its passages into the folder that it is made in.
// The store is to be closed.
func (w *Writer) makeSegment(ctx context.Context, made *draft, plan *manifest, encoders []PassageEncoder, o BuildOptions, r *reporter, fill func(dir string) error) (s segmentManifest, store *corpus.Store, err error) {
	of := segmentMaker{passages: fill, vectors: encodedTogether(plan, encoders, o)}
	of.words = func(ctx context.Context, dir string, store *corpus.Store, r *reporter) error {
		return writeWords(ctx, w.disk, filepath.Join(dir, wordsName), store, plan.Words.params(), o, r)
	}
	return w.makeSegmentOf(ctx, made, plan, of, o, r)
}

func (w *Writer) makeSegmentOf(ctx context.Context, made *draft, plan *manifest, of segmentMaker, o BuildOptions, r *reporter) (s segmentManifest, store *corpus.Store, err error) {
	s.Name = fmt.Sprintf("seg-%06d", w.number())
	dir, final := made.add("tmp-"+s.Name), made.add(s.Name)
	if err := w.disk.Mkdir(dir); err != nil {
		return s, nil, explainDisk(err)
	}
	defer func() {
		if err != nil {
			if store != nil {
				_ = store.Close()
			}
			err = explainDisk(err)
		}
	}()
	if err := of.passages(dir); err != nil {
		return s, nil, err
	}
	if store, err = corpus.OpenStore(w.disk, filepath.Join(dir, storeName)); err != nil {
		return s, nil, err
	}
	s.Passages = store.Len()
	if err := of.words(ctx, dir, store, r); err != nil {
		return s, store, err
	}
	if err := writeTags(ctx, w.disk, dir, store); err != nil {
		return s, store, err
	}
	for _, x := range plan.Experts {
		built, err := buildExpert(ctx, w.disk, dir, store, x, of.vectors[x.Name], w.number(), o, r)
		if err != nil {
			return s, store, err
		}
		s.Experts = append(s.Experts, built)
	}
	if err := w.seal(ctx, dir, &s, r); err != nil {
		return s, store, err
	}
	if err := w.disk.Rename(dir, final); err != nil {
		return s, store, err
	}
	return s, store, w.disk.SyncDir(w.dir)
}

// readInto reads all passages of source into a store.
func (w *Writer) readInto(ctx context.Context, dir string, source Source, o BuildOptions, r *reporter) (passages, skipped int, err error) {
	existing := w.pinned()
	defer existing.drop()
	store, err := corpus.CreateStore(w.disk, filepath.Join(dir, storeName))
	if err != nil {
		return 0, 0, err
	}
	defer store.Abort()
	var places corpus.Places
	for n := 0; ; n++ {
		if n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			done, total := source.Progress()
			r.report(Progress{Stage: Reading, Done: done, Total: total, Unit: "bytes", Passages: int64(store.Len())})
		}
		p, err := source.Next()
		if err == io.EOF {
			break
		}
		if err == nil && !o.Replace {
			err = w.refuseTaken(existing, p, source.Place())
		}
		if err == nil {
			if err = store.Append(p); err == nil {
				places.Add(source.Place())
				continue
			}
			err = nameClash(err, source.Place(), &places)
		}
		if !skippable(err) || o.BadPassage == nil {
			return 0, 0, err
		}
		if err := o.BadPassage(err); err != nil {
			return 0, 0, err
		}
		skipped++
	}
	if store.Len() == 0 {
		return 0, 0, errors.New("there was no passage to index")
	}
	done, _ := source.Progress()
	r.report(Progress{Stage: Reading, Done: done, Total: done, Unit: "bytes", Passages: int64(store.Len())})
	return store.Len(), skipped, store.Close()
}

// ClashError says that two passages have one id.
type ClashError struct {
	ID    string
	Place corpus.Place // of the second
	First string       // where the first one is, for people
}

func (e *ClashError) Error() string {
	return fmt.Sprintf("%s: the id %q is taken by %s (ids must differ)", e.Place, e.ID, e.First)
}

// refuseTaken is an error when the collection has the passage's id already.
func (w *Writer) refuseTaken(existing *Generation, p corpus.Passage, place corpus.Place) error {
	ordinal, taken, err := existing.Ordinal(p.ID)
	if err != nil || !taken {
		return err
	}
	return &ClashError{ID: p.ID, Place: place, First: fmt.Sprintf("a passage of %s, in %s", w.dir, existing.segmentOf(ordinal).name)}
}

// nameClash turns what a store says of a second passage with the same id into
// an error that names both places, and puts the place before other errors.
func nameClash(err error, place corpus.Place, places *corpus.Places) error {
	var double *corpus.DuplicateError
	if errors.As(err, &double) {
		return &ClashError{ID: double.ID, Place: place, First: "the passage at " + places.Of(double.Earlier).String()}
	}
	var field *corpus.FieldError
	if errors.As(err, &field) {
		return &corpus.ReadError{Place: place, Recoverable: true, Err: err}
	}
	return err
}

// skippable reports whether an error concerns one passage alone.
func skippable(err error) bool {
	var read *corpus.ReadError
	var clash *ClashError
	return errors.As(err, &read) && read.Recoverable || errors.As(err, &clash)
}

// writeWords builds BM25 of a store, deleted passages too, in a file.
func writeWords(ctx context.Context, d disk.Disk, path string, store *corpus.Store, params bm25.Params, o BuildOptions, r *reporter) error {
	builder := bm25.NewBuilder(params)
	builder.SpillTo(d, filepath.Dir(path), o.WordMemory)
	defer builder.Discard()
	for i := range store.Len() {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.report(Progress{Stage: Words, Done: int64(i), Total: int64(store.Len()), Unit: "passages"})
		}
		p, err := store.Passage(rank.Ordinal(i))
		if err != nil {
			return err
		}
		if err := builder.Add(p.Title, p.Text); err != nil {
			return fmt.Errorf("indexing the words of passage %q: %w", p.ID, err)
		}
	}
	if err := builder.Write(d, path); err != nil {
		return err
	}
	r.report(Progress{Stage: Words, Done: int64(store.Len()), Total: int64(store.Len()), Unit: "passages"})
	return ctx.Err()
}

// seal describes the files of a segment in its manifest and makes them and
// their names durable.
func (w *Writer) seal(ctx context.Context, dir string, s *segmentManifest, r *reporter) error {
	s.Store.Name, s.Words.Name, s.Tags.Name = storeName, wordsName, tagsName
	files := []*fileManifest{&s.Store, &s.Words, &s.Tags}
	for i := range s.Experts {
		files = append(files, s.Experts[i].files()...)
	}
	return w.sealFiles(ctx, dir, files, r)
}

// sealFiles fills in sizes and checksums, seals files and makes them durable.
func (w *Writer) sealFiles(ctx context.Context, dir string, files []*fileManifest, r *reporter) error {
	total, done := int64(0), int64(0)
	for _, f := range files {
		total += fileSize(filepath.Join(dir, f.Name))
	}
	for _, f := range files {
		described, err := sealFile(ctx, w.disk, dir, f.Name, func(n int64) {
			done += n
			r.report(Progress{Stage: Verifying, Done: done, Total: total, Unit: "bytes"})
		})
		if err != nil {
			return err
		}
		*f = described
	}
	return w.disk.SyncDir(dir)
}
