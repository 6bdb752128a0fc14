// Package backend is a collection in a folder as a store (store.Location, store.Backend).
package backend

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// location is a folder, in which there may be no collection yet.
type location struct{ dir string }

// At returns the location of a collection in a folder.
func At(dir string) store.Location { return location{dir} }

// read calls do with the newest generation of the collection, which it releases afterwards, and returns do's error. It
// returns nil without calling do if the folder has no collection, or one whose first indexing has not ended. It fails
// if the manifest cannot be read.
func (l location) read(do func(g *folder.Generation) error) error {
	c, err := folder.Open(l.dir)
	if errors.Is(err, folder.ErrNotCollection) || errors.Is(err, folder.ErrUnfinished) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	return do(g)
}

// Experts returns the experts of the collection, empty and not nil if it has none. It returns nil if the folder has no
// collection, or one whose first indexing has not ended. It fails if the manifest cannot be read.
func (l location) Experts(context.Context) (experts []store.Expert, err error) {
	err = l.read(func(g *folder.Generation) error {
		experts = append([]store.Expert{}, g.Experts()...)
		return nil
	})
	return experts, err
}

// Words returns the parameters of BM25 that the collection was made with. It fails if there is no collection.
func (l location) Words(context.Context) (store.WordConstants, error) {
	return folder.WordParams(l.dir)
}

// Settings returns the text of the collection's settings file; nil if there is none. It fails if the file cannot be
// read.
func (l location) Settings(context.Context) ([]byte, error) {
	return collections.ReadText(disk.OS{}, l.dir)
}

// Sample returns n random passages, or all if there are fewer; none if there is no collection. It fails if files are
// damaged.
func (l location) Sample(_ context.Context, n int) (sample []corpus.Passage, err error) {
	err = l.read(func(g *folder.Generation) error {
		chosen, err := g.Sample(n)
		for _, ordinal := range chosen {
			p, err := g.Passage(ordinal)
			if err != nil {
				return err
			}
			sample = append(sample, p)
		}
		return err
	})
	return sample, err
}

// Index adds the passages of a source to the collection, or makes one of them if there is none or o.New says so. It
// then writes o.Settings and, of a new collection, o.Calibration, if they are not nil; if that fails, the passages
// are there all the same. It refuses o.Share, since one process writes a folder.
func (l location) Index(
	ctx context.Context,
	source store.Stream,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	if o.Share.Of > 0 {
		return report, errors.New("a collection in a folder is written by one process: index shares of the passages only into a store")
	}
	if !o.New {
		if has, err := l.Experts(ctx); has != nil || err != nil {
			if err != nil {
				return report, err
			}
			report, err = folder.Add(ctx, l.dir, source, o)
			return report, l.configure(o, err)
		}
	}
	report, err = folder.Build(ctx, l.dir, source, o)
	if err == nil && o.Calibration != nil {
		err = calibration.PutRecord(l.dir, o.Calibration)
	}
	return report, l.configure(o, err)
}

// configure writes o.Settings, if there are any, into a collection that was indexed. If built is not nil, it only
// returns that. It fails if writing does.
func (l location) configure(o store.BuildOptions, built error) error {
	if built != nil || o.Settings == nil {
		return built
	}
	return collections.WriteText(disk.OS{}, l.dir, o.Settings)
}

// AddExpert encodes all passages of the collection with one more expert. It returns folder.ErrLocked if another writer
// has the collection.
func (l location) AddExpert(
	ctx context.Context,
	e store.PassageEncoder,
	o store.BuildOptions,
) (store.BuildReport, error) {
	return folder.AddExpert(ctx, l.dir, e, o)
}

// RemoveExpert removes an expert's vectors from the collection. It returns folder.ErrLocked if another writer has the
// collection.
func (l location) RemoveExpert(ctx context.Context, name string) error {
	return folder.RemoveExpert(ctx, l.dir, name)
}

// CheckParts returns nil: a folder can hold vectors of parts of passages.
func (l location) CheckParts() error { return nil }

// Folder returns the folder of the collection.
func (l location) Folder() string { return l.dir }

// Shards returns 0: a folder has no shards. The error is always nil.
func (l location) Shards(context.Context) (int, error) { return 0, nil }

// Open opens the collection for reading. It fails if there is none or it has another format. Unless o.Floors is nil, it
// also fails if the measured recall of an expert is below its floor.
func (l location) Open(_ context.Context, o store.OpenOptions) (store.Backend, error) {
	c, err := folder.Open(l.dir)
	if err != nil {
		return nil, fmt.Errorf("opening the collection %s: %w", l.dir, err)
	}
	b := newReadOnly(c, l.dir)
	if o.Floors != nil {
		g := c.Acquire()
		defer g.Release()
		if err := g.CheckRecall(o.Floors); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return b, nil
}
