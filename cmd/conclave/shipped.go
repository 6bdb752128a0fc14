package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"

	"conclave/models"
	"conclave/provision"
	"conclave/serving"

	"golang.org/x/sync/errgroup"
)

// wantedBundle is a bundle that setup sees to.
type wantedBundle struct {
	name, folder string
	// accept says why a bundle, whose files are whole, has to be made again.
	accept func(*models.Bundle) error
	// make imports it, from the checkpoint of the base encoder.
	make func(ctx context.Context, checkpoint string, progress func(done, total int64)) error
}

// readDeltas opens the deltas in the folders of files, in the order of their
// folders' names. Folders without a bundle, or with one that is no delta, are
// passed over.
func readDeltas(files fs.FS) ([]*models.Delta, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var all []*models.Delta
	places := map[string]string{}
	for _, e := range entries {
		folder, err := fs.Sub(files, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || err != nil {
			continue
		}
		d, err := models.OpenDelta(folder)
		if errors.Is(err, models.ErrNotDelta) || errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("expert %s: %w", e.Name(), err)
		}
		name := d.Manifest.Name
		if name == baseExpert || name == serving.BaseBundle(models.PrecisionInt8) {
			return nil, fmt.Errorf("expert %s: the name %q is that of the base encoder", e.Name(), name)
		}
		if other, twice := places[name]; twice {
			return nil, fmt.Errorf("experts %s and %s have the same name, %q", other, e.Name(), name)
		}
		places[name] = e.Name()
		all = append(all, d)
	}
	return all, nil
}

// wantedExperts are the merged bundles of deltas: NAME in 8 bits, which is a
// quarter of the disk and memory, faster, and within a cosine of 0.997 (nine
// experts in float32 are 800 MB on disk and more in memory), or as somebody
// has imported this very delta; with full, NAME-fp32 beside it.
//
// An expert of late interaction comes as the base encoder does: NAME in full
// precision and NAME-int8. Beside the base in the same precision it takes no
// encoder pass of its own.
func wantedExperts(cache provision.Cache, deltas []*models.Delta, full bool) []wantedBundle {
	var all []wantedBundle
	for _, d := range deltas {
		want := func(name, precision, accepted string) {
			folder := cache.Bundle(name)
			all = append(all, wantedBundle{
				name: name, folder: folder,
				accept: func(b *models.Bundle) error { return isMerged(b, d, accepted) },
				make: func(ctx context.Context, checkpoint string, progress func(done, total int64)) error {
					_, err := d.Merge(ctx, folder, models.ImportOptions{Base: checkpoint, Int8: precision == models.PrecisionInt8, Progress: progress})
					return err
				},
			})
		}
		usual, beside := models.PrecisionInt8, models.PrecisionFP32
		if d.Manifest.Kind == models.KindLate {
			usual, beside = beside, usual
		}
		want(d.Manifest.Name, usual, "")
		if full || d.Manifest.Kind == models.KindLate {
			want(d.Manifest.Name+"-"+beside, beside, beside)
		}
	}
	return all
}

// isMerged reports why a bundle is not what this version would make of d, in
// the given precision or, with "", in any.
func isMerged(b *models.Bundle, d *models.Delta, precision string) error {
	m := b.Manifest
	switch {
	case m.Lineage.MergedFrom != d.SHA256:
		return fmt.Errorf("%s was made from another delta", b.Dir)
	case m.Lineage.Producer != models.Producer:
		return fmt.Errorf("%s was made otherwise (by %q)", b.Dir, m.Lineage.Producer)
	case precision != "" && m.Precision != precision:
		return fmt.Errorf("%s is in %s", b.Dir, m.Precision)
	}
	return nil
}

// importers bounds how many bundles are imported at once: each takes about
// 150 MB of memory.
const importers = 4

// importBundles makes bundles, several at a time, under one bar.
func importBundles(ctx context.Context, missing []wantedBundle, checkpoint string, out io.Writer) error {
	if len(missing) == 0 {
		return nil
	}
	bar := newProgress(out)
	defer bar.Finish()
	sum := &sharedProgress{parts: make([][2]int64, len(missing)), show: func(done, total int64) {
		bar.Report(fmt.Sprintf("importing %s", bundleNames(missing)), done, total, "bytes")
	}}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(importers, runtime.GOMAXPROCS(0)))
	for i, w := range missing {
		group.Go(func() error {
			if err := w.make(ctx, checkpoint, func(done, total int64) { sum.report(i, done, total) }); err != nil {
				return fmt.Errorf("bundle %s: %w", w.name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// bundleNames lists a few bundles by name, and counts many.
func bundleNames(all []wantedBundle) string {
	const few = 3
	if len(all) > few {
		return fmt.Sprintf("%d bundles", len(all))
	}
	var names []string
	for _, w := range all {
		names = append(names, w.name)
	}
	return strings.Join(names, ", ")
}

// sharedProgress adds up the progress of several imports.
type sharedProgress struct {
	mu    sync.Mutex
	parts [][2]int64 // done and total of each; a total of 0: not begun
	show  func(done, total int64)
}

func (s *sharedProgress) report(part int, done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[part] = [2]int64{done, total}
	var sum, known, largest, open int64
	for _, p := range s.parts {
		sum, known, largest = sum+p[0], known+p[1], max(largest, p[1])
		if p[1] == 0 {
			open++
		}
	}
	s.show(sum, known+open*largest) // what has not begun is taken to be as large
}
