package folder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// mergeAll is the merger's goroutine: it merges segments whenever the policy says so, one merge at a time, until ctx
// ends. After a failure it waits, longer each time.
func (l *Live) mergeAll(ctx context.Context) {
	wait := l.options.retry
	for {
		err := l.resolveOutcome(ctx)
		m := l.writer.snapshot()
		names := l.options.Merge.choose(m.Segments)
		if err == nil && names == nil {
			l.note(&l.mergeTrouble, nil)
			if l.await(ctx, func() bool { return l.generation > m.Generation }) != nil {
				return
			}
			continue
		}
		if err == nil {
			err = l.writer.checkRoom(names)
		}
		if err == nil {
			err = l.merge(ctx, names)
		}
		if ctx.Err() != nil {
			return
		}
		l.note(&l.mergeTrouble, err)
		l.pause(ctx, err, &wait)
	}
}

// merge merges the named segments and shows the result. The set of experts does not change meanwhile. It fails if a
// segment is not there, a file cannot be read or written, or ctx ends; nothing is replaced then.
func (l *Live) merge(ctx context.Context, names []string) error {
	l.structure.RLock()
	defer l.structure.RUnlock()
	o := l.options.Build
	o.Threads = l.options.Merge.Threads
	if err := disk.Survive(func() (err error) { _, err = l.writer.merge(ctx, names, o); return err }); err != nil {
		return fmt.Errorf("merging %d segments: %w", len(names), err)
	}
	l.show(ctx)
	return nil
}

// merge replaces the named segments by one with their live passages, by none if there are none, and returns the new
// generation's number. What is deleted while it works is deleted in its result. It fails if one of the segments is
// not there, a file is damaged, or ctx ends; nothing changes then.
func (w *writer) merge(ctx context.Context, names []string, o store.BuildOptions) (generation uint64, err error) {
	o.Experts = nil
	if err := o.Complete(); err != nil {
		return 0, err
	}
	plan := w.snapshot()
	source, err := openGeneration(w.files, w.dir, plan, everything)
	if err != nil {
		return 0, err
	}
	defer source.drop()
	from, err := source.chosen(names)
	if err != nil {
		return 0, err
	}
	list := disk.NewList[origin](w.disk, w.dir)
	defer func() { err = errors.Join(err, list.Close()) }()
	err = eachByID(from, "", func(at origin) (bool, error) { return true, errors.Join(list.Append(at), ctx.Err()) })
	if err != nil {
		return 0, err
	}
	order := list.Values()
	made := w.draft()
	defer made.discard()
	var s manifest.Segment
	if len(order) > 0 {
		maker := segmentMaker{
			words:   mergedWords(w.disk, from, order),
			vectors: map[string]vectorMaker{},
			reads:   readsTakenOver(from, order),
		}
		for _, x := range plan.Keepers() {
			maker.vectors[x.Name] = copied(from, order)
		}
		s, err = w.makeSegment(ctx, made, plan, maker, o, &reporter{to: o.Progress}, func(dir string) (passages, error) {
			texts := takenOver{from, order}
			return texts, writeStore(ctx, w.disk, filepath.Join(dir, storeName), texts)
		})
		if err != nil {
			return 0, err
		}
	}
	m, err := w.publish(
		ctx, made, func(m *manifest.Manifest) error { return w.replaceMerged(made, m, plan, from, order, s) },
	)
	if err != nil {
		return 0, err
	}
	return m.Generation, nil
}

// chosen returns the segments with the given names, in the generation's order. It fails if one is missing or there are
// no names.
func (g *Generation) chosen(names []string) ([]*segment, error) {
	var out []*segment
	for _, s := range g.segments {
		if slices.Contains(names, s.name) {
			out = append(out, s)
		}
	}
	if len(out) != len(names) || len(out) == 0 {
		return nil, fmt.Errorf("of the %d segments to merge, %d are there", len(names), len(out))
	}
	return out, nil
}

// mergedWords returns a function that writes the words of a merged segment into a folder, from the postings of its
// sources. The file is the same, byte for byte, as analysing the texts again would give, in less than half the time
// (compare bm25's BenchmarkMergeOrdered with BenchmarkBuild).
func mergedWords(
	d disk.Disk,
	from []*segment,
	order []origin,
) func(ctx context.Context, dir string, _ passages, r *reporter) error {
	return func(ctx context.Context, dir string, _ passages, r *reporter) error {
		total := int64(len(order))
		r.report(store.Progress{Stage: store.Words, Total: total, Unit: "passages"})
		segments := make([]bm25.Segment, len(from))
		for i, s := range from {
			segments[i] = bm25.Segment{Index: s.words}
		}
		places := func(yield func(bm25.SegmentPassage) bool) {
			for _, at := range order {
				if !yield(bm25.SegmentPassage{Segment: at.segment, Passage: uint32(at.ordinal)}) {
					return
				}
			}
		}
		if err := bm25.MergeOrdered(ctx, d, filepath.Join(dir, wordsName), places, segments...); err != nil {
			return fmt.Errorf("merging words: %w", err)
		}
		r.report(store.Progress{Stage: store.Words, Done: total, Total: total, Unit: "passages"})
		return nil
	}
}

// copied returns a vectorMaker that copies the vectors of the passages in order from the segments that are merged. It
// first verifies the whole files: copies get new checksums, which would hide damage for good.
func copied(from []*segment, order []origin) vectorMaker {
	return func(ctx context.Context, d disk.Disk, to vectorPaths, _ passages, x manifest.Expert, r *reporter) error {
		out, err := createVectors(d, to, x)
		if err != nil {
			return err
		}
		defer out.abort()
		for _, s := range from { // copies get checksums of their own, which would hide damage for good
			if err := s.vectors[x.Name].Verify(ctx); err != nil {
				return fmt.Errorf("merging %s: %w", s.name, err)
			}
		}
		for i, at := range order {
			if i%256 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				r.report(
					store.Progress{
						Stage:  store.Encoding,
						Expert: x.Name,
						Done:   int64(i),
						Total:  int64(len(order)),
						Unit:   "passages",
					},
				)
			}
			if err := out.copy(from[at.segment].vectors[x.Name], at.ordinal); err != nil {
				return err
			}
		}
		return out.close()
	}
}

// replaceMerged puts a merged segment into m in the place of those it was made from. Passages that were deleted there
// since the merge began get tombstones. It fails if experts or the words' parameters changed meanwhile. It runs inside
// publish, where w.current is the generation that m succeeds.
func (w *writer) replaceMerged(
	made *draft,
	m, plan *manifest.Manifest,
	from []*segment,
	order []origin,
	s manifest.Segment,
) error {
	if !slices.EqualFunc(m.Experts, plan.Experts, func(a, b manifest.Expert) bool { return a == b }) {
		return errors.New("the experts changed while segments were merged")
	}
	if m.Words != plan.Words {
		return errWordsChanged
	}
	first := -1
	present := make([]*segment, len(from)) // as they are now; nil when nothing of them is left
	for at, now := range w.current.segments {
		for i := range from {
			if from[i].name == now.name {
				present[i] = now
				if first < 0 {
					first = at
				}
			}
		}
	}
	var removed []rank.Ordinal
	for i, at := range order {
		if now := present[at.segment]; now == nil || now.dead.Has(at.ordinal) {
			removed = append(removed, rank.Ordinal(i))
		}
	}
	if len(removed) > 0 && len(removed) < len(order) {
		if err := w.writeTombstones(made, &s, nil, removed); err != nil {
			return err
		}
	}
	if first < 0 {
		first = len(m.Segments)
	}
	if len(removed) < len(order) {
		m.Segments = slices.Insert(m.Segments, first, s)
	}
	m.Segments = slices.DeleteFunc(m.Segments, func(old manifest.Segment) bool {
		return slices.ContainsFunc(from, func(f *segment) bool { return f.name == old.Name })
	})
	return nil
}
