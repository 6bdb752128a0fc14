package folder

import (
	"context"
	"errors"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// This file is what changes a collection that no server has open. Each function
// takes its lock (ErrLocked where another writer has it), removes what an
// interrupted writer left, and leaves the collection as it was when it fails.
// ErrNotCollection where there is no collection.

// withWriter opens a writer of the collection in dir, calls work with it and closes it. It returns ErrLocked if another
// writer has the collection. A read of a damaged or vanished file becomes an error.
func withWriter[T any](dir string, work func(w *writer) (T, error)) (out T, err error) {
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		return out, err
	}
	err = disk.Survive(func() (err error) { out, err = work(w); return err })
	return out, errors.Join(err, w.Close())
}

// Add adds the passages of source to the collection in dir as a new segment. An id that is there already is an error
// that names both places; with o.Replace the new passage replaces the old one. o.Experts must be the encoders of all
// the collection's experts. It fails if the log has changes that no server has made visible yet.
func Add(ctx context.Context, dir string, source store.Stream, o store.BuildOptions) (store.BuildReport, error) {
	return withWriter(dir, func(w *writer) (store.BuildReport, error) { return w.add(ctx, source, o) })
}

// Merge replaces the named segments by one without their deleted passages, and returns the new generation's number.
// Nothing is analysed or encoded: postings are merged and vectors are copied. Of o, only Threads and Progress count.
// It fails, and changes nothing, if names is empty or one of the segments is not there.
func Merge(ctx context.Context, dir string, names []string, o store.BuildOptions) (generation uint64, err error) {
	return withWriter(dir, func(w *writer) (uint64, error) { return w.merge(ctx, names, o) })
}

// AddExpert encodes all passages of the collection in dir with another expert and adds its files to each segment.
// Until it has succeeded, readers see the collection as it was. Of o, only Index, Threads and Progress count. It
// returns ErrHasVectors if there is an expert of that name, and ErrLocked if another writer has the collection.
func AddExpert(
	ctx context.Context,
	dir string,
	encoder store.PassageEncoder,
	o store.BuildOptions,
) (store.BuildReport, error) {
	return withWriter(dir, func(w *writer) (store.BuildReport, error) { return w.addExpert(ctx, encoder, o) })
}

// RemoveExpert removes an expert and its vectors from the collection in dir. Readers with an older generation keep
// its files until they release it. It fails if there is none of that name, another expert searches its vectors
// (ErrIsOwner), or another writer has the collection (ErrLocked).
func RemoveExpert(ctx context.Context, dir, name string) error {
	_, err := withWriter(dir, func(w *writer) (struct{}, error) { return struct{}{}, w.removeExpert(ctx, name) })
	return err
}

// RebuildWords analyses the stored texts of the collection in dir again, and indexes their words with params, of
// which all fields count (see WordParams). It gives phrases to a collection that was built without, and makes one
// usable that another analyser made. Until it has succeeded, readers see the collection as it was. Of o, only
// Progress counts. It returns ErrLocked if another writer has the collection.
func RebuildWords(
	ctx context.Context,
	dir string,
	params bm25.Params,
	o store.BuildOptions,
) (store.BuildReport, error) {
	return withWriter(dir, func(w *writer) (store.BuildReport, error) { return w.rebuildWords(ctx, params, o) })
}
