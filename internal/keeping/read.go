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

// Describe returns a document and its version, which is that of its first passage.
func Describe(ctx context.Context, get Get, id string) (d corpus.Document, version string, ok bool, err error) {
	p, version, ok, err := get(ctx, corpus.PassageID(id, 1))
	if err != nil || !ok {
		return d, "", false, err
	}
	d, number, ok := corpus.DocumentOf(&p)
	return d, version, ok && number == 1, nil
}

// Passages returns a document with all its passages, of one version of it.
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

// passagesOnce reads a document once; whole is false where it changed meanwhile.
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
		p, _, there, err := get(ctx, corpus.PassageID(id, n))
		if err != nil {
			return d, "", nil, false, true, err
		}
		if !there {
			break
		}
		all = append(all, p)
	}
	_, now, there, err := get(ctx, corpus.PassageID(id, 1))
	return d, version, all, true, there && now == version, err
}
