package keeping

import (
	"context"
	"errors"

	"example.org/conclave/internal/corpus"
)

// Get reads a passage, with its version.
type Get func(ctx context.Context, id string) (p corpus.Passage, version string, ok bool, err error)

// ErrChanging is the error of a document that was changed again and again while it was read.
var ErrChanging = errors.New("the document changes faster than it can be read")

// Describe returns a document and its version, by its first passage; ok is false if there is no document with this
// id. The error is that of get.
func Describe(ctx context.Context, get Get, id string) (d corpus.Document, version string, ok bool, err error) {
	p, version, ok, err := get(ctx, corpus.PassageID(id, 1))
	if err != nil || !ok {
		return d, "", false, err
	}
	d, number, ok := corpus.DocumentOf(&p)
	return d, version, ok && number == 1, nil
}

// Passages returns a document with its version and all its passages, in their order. ok is false if there is no
// document with this id. It returns ErrChanging if the document changes at each of several attempts to read it, and
// the error of get.
func Passages(
	ctx context.Context,
	get Get,
	id string,
) (d corpus.Document, version string, all []corpus.Passage, ok bool, err error) {
	for range attempts {
		var whole bool
		d, version, all, ok, whole, err = passagesOnce(ctx, get, id)
		if err != nil || !ok || whole {
			return d, version, all, ok, err
		}
	}
	return d, "", nil, false, ErrChanging
}

// passagesOnce reads a document with its passages once. ok is false if there is no document with this id. whole is
// false if the document changed meanwhile: the passages may then be of two versions, and the caller reads again. It
// fails as soon as get fails.
func passagesOnce(
	ctx context.Context,
	get Get,
	id string,
) (d corpus.Document, version string, all []corpus.Passage, ok, whole bool, err error) {
	first, version, ok, err := get(ctx, corpus.PassageID(id, 1))
	if err != nil || !ok {
		return d, "", nil, false, true, err
	}
	d, number, ok := corpus.DocumentOf(&first)
	if !ok || number != 1 {
		return d, "", nil, false, true, nil
	}
	all = append(all, first)
	for n := 2; d.Passages == 0 || n <= d.Passages; n++ {
		p, _, found, err := get(ctx, corpus.PassageID(id, n))
		if err != nil {
			return d, "", nil, false, true, err
		}
		if !found {
			break
		}
		all = append(all, p)
	}
	_, now, found, err := get(ctx, corpus.PassageID(id, 1))
	return d, version, all, true, found && now == version, err
}
