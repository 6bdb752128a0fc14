package folder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
	"example.org/conclave/store/folder/internal/segmentfile"
)

// extension is files to add to every segment, such as those of a new expert.
type extension[T any] struct {
	stage  func(store.Progress) bool // whose progress is of passages
	build  func(made *draft, dir string, texts *corpus.Store, r *reporter) (T, []*manifest.SegmentFile, error)
	enlist func(m *manifest.Manifest)         // what is new of the collection
	assign func(s *manifest.Segment, built T) // the files of a segment
}

// extend builds an extension for every segment, makes it durable and publishes it in one generation. after is the new
// generation's manifest; report has the passages and bytes. If it fails, nothing changes. It also fails if another
// segment was published meanwhile.
func extend[T any](
	ctx context.Context,
	w *writer,
	o store.BuildOptions,
	x extension[T],
) (report store.BuildReport, after *manifest.Manifest, err error) {
	if err := w.checkBuilt(); err != nil {
		return report, nil, err
	}
	m := w.snapshot()
	built := map[string]T{}
	made := w.draft() // by segment
	defer func() {
		made.discard()
		err = disk.Explain(err)
	}()
	r := &reporter{to: o.Progress}
	for i := range m.Segments {
		s := &m.Segments[i]
		// Stages of several segments are shown as one: passages so far.
		before := int64(report.Passages)
		inner := &reporter{to: func(p store.Progress) {
			if x.stage(p) {
				p.Total = int64(m.Passages())
				p.Done = p.Done + before
			}
			r.report(p)
		}}
		files, err := w.extendOne(ctx, s, func(dir string, texts *corpus.Store) (files []*manifest.SegmentFile, err error) {
			built[s.Name], files, err = x.build(made, dir, texts, inner)
			return files, err
		}, inner)
		if err != nil {
			return report, nil, fmt.Errorf("segment %s: %w", s.Name, err)
		}
		report.Passages += s.Passages
		for _, f := range files {
			report.Bytes += f.Size
		}
	}
	after, err = w.publish(ctx, made, func(m *manifest.Manifest) error {
		x.enlist(m)
		for i := range m.Segments {
			files, ok := built[m.Segments[i].Name]
			if !ok {
				return fmt.Errorf("segment %s came meanwhile: start again", m.Segments[i].Name)
			}
			x.assign(&m.Segments[i], files)
		}
		return nil
	})
	if err == nil {
		report.Generation = after.Generation
		report.Recall = map[string]store.Recall{}
	}
	return report, after, err
}

// extendOne calls build with the folder and the texts of a segment, and seals and syncs the files that build wrote.
// It returns these files. It fails if build does, or a file cannot be sealed.
func (w *writer) extendOne(
	ctx context.Context,
	s *manifest.Segment,
	build func(dir string, texts *corpus.Store) ([]*manifest.SegmentFile, error),
	r *reporter,
) (files []*manifest.SegmentFile, err error) {
	dir := filepath.Join(w.dir, s.Name)
	texts, err := corpus.OpenStore(segmentfile.Disk{Disk: w.disk, Files: s.Files()}, filepath.Join(dir, s.Store.Name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	files, err = build(dir, texts)
	if err != nil {
		return nil, err
	}
	return files, w.sealFiles(ctx, dir, files, r)
}
