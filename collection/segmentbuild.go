package collection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"conclave/bm25"
	"conclave/corpus"
	"conclave/rank"
)

const (
	storeName = "passages"
	wordsName = "words"
)

// addSegment makes a segment from the passages of source and publishes m with
// it. Everything is made in a temporary folder; one rename gives it its name,
// another one publishes it.
func (w *Writer) addSegment(ctx context.Context, m *manifest, source Source, o BuildOptions) (report Report, err error) {
	r := &reporter{to: o.Progress}
	name := fmt.Sprintf("seg-%06d", m.NextSegment)
	dir := filepath.Join(w.dir, "tmp-"+name)
	final := filepath.Join(w.dir, name)
	if err := w.disk.Mkdir(dir); err != nil {
		return report, explainDisk(err)
	}
	published := false
	defer func() {
		if !published {
			_ = w.disk.RemoveAll(dir) // else the next writer does
			_ = w.disk.RemoveAll(final)
		}
		err = explainDisk(err)
	}()

	s := segmentManifest{Name: name}
	if s.Passages, report.Skipped, err = w.readInto(ctx, dir, source, o, r); err != nil {
		return report, err
	}
	if total := m.passages() + s.Passages; uint64(total) > uint64(^rank.Ordinal(0)) {
		return report, fmt.Errorf("a collection holds %d passages at most, these would be %d", ^rank.Ordinal(0), total)
	}
	store, err := corpus.OpenStore(filepath.Join(dir, storeName))
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := writeWords(ctx, dir, store, m.Words.params(), o, r); err != nil {
		return report, err
	}
	report.Recall = map[string]Recall{}
	for i, x := range o.Experts {
		x, err := buildExpert(ctx, dir, store, *m.expert(x.Name()), o.Experts[i], m.Generation, o, r)
		if err != nil {
			return report, err
		}
		s.Experts = append(s.Experts, x)
		report.Recall[x.Name] = x.Recall
	}
	if err := w.seal(ctx, dir, &s, r); err != nil {
		return report, err
	}
	if err := w.disk.Rename(dir, final); err != nil {
		return report, err
	}
	if err := w.disk.SyncDir(w.dir); err != nil {
		return report, err
	}
	m.Segments = append(m.Segments, s)
	m.NextSegment++
	if err := w.publish(ctx, m); err != nil {
		return report, err
	}
	published = true
	report.Generation, report.Segment, report.Passages = m.Generation, name, s.Passages
	for _, f := range s.files() {
		report.Bytes += f.Size
	}
	return report, nil
}

// readInto reads all passages of source into a store.
func (w *Writer) readInto(ctx context.Context, dir string, source Source, o BuildOptions, r *reporter) (passages, skipped int, err error) {
	existing, err := openGeneration(newShared(), w.dir, w.manifest, wordless)
	if err != nil {
		return 0, 0, err
	}
	defer existing.drop()
	store, err := corpus.CreateStore(filepath.Join(dir, storeName))
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
		if err == nil {
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
	return fmt.Sprintf("%s: the id %q is taken by %s (ids must differ; --id-prefix tells files apart)", e.Place, e.ID, e.First)
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

// writeWords builds BM25 of a store.
func writeWords(ctx context.Context, dir string, store *corpus.Store, params bm25.Params, o BuildOptions, r *reporter) error {
	builder := bm25.NewBuilder(params)
	builder.SpillTo(dir, o.WordMemory)
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
	if err := builder.Write(filepath.Join(dir, wordsName)); err != nil {
		return err
	}
	r.report(Progress{Stage: Words, Done: int64(store.Len()), Total: int64(store.Len()), Unit: "passages"})
	return ctx.Err()
}

// seal describes the files of a segment in its manifest and makes them and
// their names durable.
func (w *Writer) seal(ctx context.Context, dir string, s *segmentManifest, r *reporter) error {
	files := []*fileManifest{&s.Store, &s.Words}
	s.Store.Name, s.Words.Name = storeName, wordsName
	for i := range s.Experts {
		files = append(files, s.Experts[i].files()...)
	}
	return w.sealFiles(ctx, dir, files, r)
}

// sealFiles fills in sizes and checksums and makes files durable.
func (w *Writer) sealFiles(ctx context.Context, dir string, files []*fileManifest, r *reporter) error {
	total, done := int64(0), int64(0)
	for _, f := range files {
		total += fileSize(filepath.Join(dir, f.Name))
	}
	for _, f := range files {
		described, err := describe(ctx, dir, f.Name, func(n int64) {
			done += n
			r.report(Progress{Stage: Verifying, Done: done, Total: total, Unit: "bytes"})
		})
		if err != nil {
			return err
		}
		*f = described
		if err := w.disk.SyncFile(filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return w.disk.SyncDir(dir)
}
