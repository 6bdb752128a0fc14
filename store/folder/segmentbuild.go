package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
)

const (
	storeName = "passages"
	wordsName = "words"
	tagsName  = "tags"
)

// addSegment makes a segment from the passages of source and publishes it, with the words and experts of plan. It
// builds in a temporary folder, renames that and publishes the manifest. If it fails, the collection is unchanged,
// except when only the copies could not be counted: the error then names the published generation.
func (w *writer) addSegment(
	ctx context.Context,
	plan *manifest.Manifest,
	source store.Stream,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	r := &reporter{to: o.Progress}
	made := w.draft()
	defer made.discard()
	var replaced []string // ids
	s, err := w.makeSegment(ctx, made, plan, w.encoded(plan, o.Experts, o), o, r, func(dir string) (passages, error) {
		path := filepath.Join(dir, storeName)
		replaced, err = w.readInto(ctx, path, source, o, &report, r)
		if err != nil {
			return nil, err
		}
		if total := plan.Passages() + report.Passages; uint64(total) > uint64(^rank.Ordinal(0)) {
			return nil, fmt.Errorf("a collection holds %d passages at most, these would be %d", ^rank.Ordinal(0), total)
		}
		return corpus.OpenStore(w.disk, path)
	})
	if err != nil {
		return report, err
	}
	m, err := w.publish(ctx, made, func(m *manifest.Manifest) error {
		report.Replaced, err = w.bury(ctx, made, m, slices.Values(replaced))
		if err != nil {
			return err
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
	report.Generation, report.Segment = m.Generation, s.Name
	if s.Reads != nil && s.Reads.Cut != nil {
		report.Cut = s.Reads.Cut.Passages
	}
	now := w.pinned()
	defer now.drop()
	report.Copies, err = now.Copies(ctx)
	if err != nil {
		return report, fmt.Errorf("generation %d is published, and its copies could not be counted: %w", m.Generation, err)
	}
	report.Recall = map[string]store.Recall{}
	for _, x := range s.Experts {
		report.Recall[x.Name] = x.Recall
	}
	for _, f := range s.Files() {
		report.Bytes += f.Size
	}
	return report, nil
}

// segmentMaker makes the words, vectors and reads of a new segment: by analysing and
// encoding its texts, or in a merge by copying from the merged segments.
type segmentMaker struct {
	words   func(ctx context.Context, dir string, texts passages, r *reporter) error
	vectors map[string]vectorMaker // by expert
	reads   readMaker
}

// vectorMaker writes the vectors of an expert for the passages texts to the files to:
// with an encoder, or in a merge by copying. If it fails, it leaves no file.
type vectorMaker func(ctx context.Context, d disk.Disk, to vectorPaths, texts passages, x manifest.Expert,
	r *reporter) error

// encoded returns a segmentMaker that analyses and encodes texts.
func (w *writer) encoded(plan *manifest.Manifest, encoders []store.PassageEncoder, o store.BuildOptions) segmentMaker {
	return segmentMaker{
		vectors: encodedTogether(plan, encoders, o),
		reads:   readBy(encoders),
		words: func(ctx context.Context, dir string, texts passages, r *reporter) error {
			return writeWords(ctx, w.disk, filepath.Join(dir, wordsName), texts, plan.Words.Params(), o, r)
		},
	}
}

// makeSegment makes a segment that is complete and durable and has its final name, but is not published. fill puts
// the file of its passages into the folder dir and returns them. The paths are in made, which removes them unless
// they are published. It fails if fill, an encoder or the disk does, or ctx ends.
func (w *writer) makeSegment(
	ctx context.Context,
	made *draft,
	plan *manifest.Manifest,
	maker segmentMaker,
	o store.BuildOptions,
	r *reporter,
	fill func(dir string) (passages, error),
) (s manifest.Segment, err error) {
	s.Name = fmt.Sprintf("seg-%06d", w.number())
	dir, final := made.add("tmp-"+s.Name), made.add(s.Name)
	defer func() { err = disk.Explain(err) }()
	if err := w.disk.Mkdir(dir); err != nil {
		return s, err
	}
	texts, err := fill(dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	s.Passages = texts.Len()
	if err := maker.words(ctx, dir, texts, r); err != nil {
		return s, err
	}
	if err := writeTags(ctx, w.disk, dir, texts); err != nil {
		return s, err
	}
	if err := writeTexts(ctx, w.disk, dir, texts); err != nil {
		return s, err
	}
	reads, known, err := maker.reads(ctx, texts)
	if err == nil && known {
		s.Reads, err = writeReads(w.disk, dir, reads, texts.Len(), w.number)
	}
	if err != nil {
		return s, err
	}
	for _, x := range plan.Keepers() {
		built, err := buildExpert(ctx, w.disk, dir, texts, x, maker.vectors[x.Name], w.number(), o, r)
		if err != nil {
			return s, err
		}
		s.Experts = append(s.Experts, built)
	}
	if err := w.seal(ctx, dir, &s, r); err != nil {
		return s, err
	}
	if err := w.disk.Rename(dir, final); err != nil {
		return s, err
	}
	return s, w.disk.SyncDir(w.dir)
}

// readInto reads all passages of source into a new file of texts at path, and counts them in report. An id that the
// collection has already is a *store.ClashError, or with o.Replace is returned in replaced. Bad passages are skipped
// if o.BadPassage allows it. It fails if no passage is left; the file is then removed.
func (w *writer) readInto(
	ctx context.Context,
	path string,
	source store.Stream,
	o store.BuildOptions,
	report *store.BuildReport,
	r *reporter,
) (replaced []string, err error) {
	existing := w.pinned()
	defer existing.drop()
	texts, err := corpus.CreateStore(w.disk, path)
	if err != nil {
		return nil, err
	}
	defer texts.Abort()
	var places corpus.Places
	for n := 0; ; n++ {
		if n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			done, total := source.Progress()
			r.report(store.Progress{Stage: store.Reading, Done: done, Total: total, Unit: "bytes", Passages: int64(texts.Len())})
		}
		p, err := source.Next()
		if err == io.EOF {
			break
		}
		var ordinal rank.Ordinal
		taken := false
		if err == nil {
			ordinal, taken, err = existing.Ordinal(p.ID)
		}
		if taken && !o.Replace {
			err = &store.ClashError{
				ID:    p.ID,
				Place: source.Place(),
				First: fmt.Sprintf("a passage of %s, in %s", w.dir, existing.segmentOf(ordinal).name), Stored: true,
			}
		}
		if err == nil {
			err = texts.Append(p)
			if err == nil {
				places.Add(source.Place())
				if taken {
					replaced = append(replaced, p.ID)
				}
				continue
			}
			err = explainClash(err, source.Place(), &places)
		}
		if !skippable(err) || o.BadPassage == nil {
			return nil, err
		}
		if err := o.BadPassage(err); err != nil {
			return nil, err
		}
		report.Skipped++
	}
	report.Passages = texts.Len()
	if report.Passages == 0 {
		return nil, errors.New("there was no passage to index")
	}
	done, _ := source.Progress()
	r.report(store.Progress{Stage: store.Reading, Done: done, Total: done, Unit: "bytes", Passages: int64(texts.Len())})
	return replaced, texts.Close()
}

// explainClash returns an error that names the place of the passage that could not be stored, and for a repeated id
// also that of the first one. Other errors it returns as they are.
func explainClash(err error, place corpus.Place, places *corpus.Places) error {
	var double *corpus.DuplicateError
	if errors.As(err, &double) {
		return &store.ClashError{ID: double.ID, Place: place, First: "the passage at " + places.Of(double.Earlier).String()}
	}
	var field *corpus.FieldError
	if errors.As(err, &field) {
		return &corpus.ReadError{Place: place, Recoverable: true, Err: err}
	}
	return err
}

// skippable reports whether an error concerns one passage alone, so that the others can still be read.
func skippable(err error) bool {
	var read *corpus.ReadError
	var clash *store.ClashError
	return errors.As(err, &read) && read.Recoverable || errors.As(err, &clash)
}

// writeWords builds the BM25 index of texts, deleted passages too, and writes it to a new file at path. It fails if a
// text or the disk does, or ctx ends.
func writeWords(
	ctx context.Context,
	d disk.Disk,
	path string,
	texts passages,
	params bm25.Params,
	o store.BuildOptions,
	r *reporter,
) error {
	builder := bm25.NewBuilder(params)
	builder.SpillTo(d, filepath.Dir(path), o.WordMemory)
	defer builder.Discard()
	for i := range texts.Len() {
		if i%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.report(store.Progress{Stage: store.Words, Done: int64(i), Total: int64(texts.Len()), Unit: "passages"})
		}
		p, err := texts.Passage(rank.Ordinal(i))
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
	r.report(store.Progress{Stage: store.Words, Done: int64(texts.Len()), Total: int64(texts.Len()), Unit: "passages"})
	return ctx.Err()
}

// seal sets the names, sizes and checksums of a segment's files in s, and makes the files and their names durable. It
// fails if a file cannot be read or written, or ctx ends.
func (w *writer) seal(ctx context.Context, dir string, s *manifest.Segment, r *reporter) error {
	s.Store.Name, s.Words.Name, s.Tags.Name = storeName, wordsName, tagsName
	s.Spelling.Name, s.Copies.Name, s.Fields.Name = spellingName, copiesName, fieldsName
	files := []*manifest.SegmentFile{&s.Store, &s.Words, &s.Tags, &s.Spelling, &s.Copies, &s.Fields}
	files = append(files, s.Reads.Files()...)
	for i := range s.Experts {
		files = append(files, s.Experts[i].Files()...)
	}
	return w.sealFiles(ctx, dir, files, r)
}

// sealFiles appends its seal to each of the files in dir that files names, sets their sizes and checksums in files,
// and makes the files and their names durable. It fails if a file cannot be read or written, or ctx ends; some files
// may have their seal then.
func (w *writer) sealFiles(ctx context.Context, dir string, files []*manifest.SegmentFile, r *reporter) error {
	total, done := int64(0), int64(0)
	for _, f := range files {
		total += fileSize(filepath.Join(dir, f.Name))
	}
	for _, f := range files {
		described, err := segmentfile.Seal(ctx, w.disk, dir, f.Name, func(n int64) {
			done += n
			r.report(store.Progress{Stage: store.Verifying, Done: done, Total: total, Unit: "bytes"})
		})
		if err != nil {
			return err
		}
		*f = described
	}
	return w.disk.SyncDir(dir)
}
