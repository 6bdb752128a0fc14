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

// alone locks the collection in dir, calls work with its writer, and closes that. The error is ErrLocked if another
// writer has the collection, ErrNotCollection if dir has none, or work's.
func alone[T any](dir string, work func(w *writer) (T, error)) (out T, err error) {
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		return out, err
	}
	err = disk.Survive(func() (err error) { out, err = work(w); return err })
	return out, errors.Join(err, w.Close())
}

// Add adds the passages of source to the collection in dir, as a new segment.
// A passage whose id is there already is an error that names both places, or
// with Replace takes the place of the one that has it.
func Add(ctx context.Context, dir string, source store.Stream, o store.BuildOptions) (store.BuildReport, error) {
	return alone(dir, func(w *writer) (store.BuildReport, error) { return w.add(ctx, source, o) })
}

// Merge makes one segment of the named ones, without their deleted passages.
// Nothing is analysed or encoded: postings are merged and vectors are copied. Of
// the options, Threads and Progress count.
func Merge(ctx context.Context, dir string, names []string, o store.BuildOptions) (generation uint64, err error) {
	return alone(dir, func(w *writer) (uint64, error) { return w.merge(ctx, names, o) })
}

// AddExpert encodes all passages of the collection in dir with another expert
// and adds its two files to each segment. Nothing else is written; until the
// new manifest is there, readers see the collection as it was. Of the options,
// Index, Threads and Progress count.
func AddExpert(
	ctx context.Context,
	dir string,
	encoder store.PassageEncoder,
	o store.BuildOptions,
) (store.BuildReport, error) {
	return alone(dir, func(w *writer) (store.BuildReport, error) { return w.addExpert(ctx, encoder, o) })
}

// RemoveExpert removes an expert, and its files, from the collection in dir. It fails if the collection has no such
// expert, or if another one searches its vectors. Readers that have the files open keep them until they release their
// generation.
func RemoveExpert(ctx context.Context, dir, name string) error {
	_, err := alone(dir, func(w *writer) (struct{}, error) { return struct{}{}, w.removeExpert(ctx, name) })
	return err
}

// RebuildWords analyses all passages of the collection in dir anew, from their
// stored texts, and indexes their words with the given parameters (all of them;
// see WordParams). That is how a collection that was built without phrases
// gets them, and how one that another analyser made can be used again. A new file of
// words is written beside the old one in each segment, and nothing else; until
// the new manifest is there, readers see the collection as it was. Of the
// options, Progress counts.
func RebuildWords(
	ctx context.Context,
	dir string,
	params bm25.Params,
	o store.BuildOptions,
) (store.BuildReport, error) {
	return alone(dir, func(w *writer) (store.BuildReport, error) { return w.rebuildWords(ctx, params, o) })
}
