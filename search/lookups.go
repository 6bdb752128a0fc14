package search

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/storage"
)

// reader pins the newest generation for a caller and returns what reads it. Call done at the end of the request. The
// error is that the engine is closing.
func (e *Engine) reader(by Caller) (r lookup.Reader, done func(), err error) {
	l, err := e.begin()
	if err != nil {
		return lookup.Reader{}, nil, err
	}
	view := e.pin()
	done = func() {
		view.Release()
		l.panel.Users.Leave()
	}
	return lookup.Reader{View: view, AnswerBytes: e.limits.AnswerBytes, TakeRoom: by.takeRoom}, done, nil
}

// Passage returns a passage and its version; an unknown id is an *Error of kind NotFound. It takes room before it reads
// the text (Caller.TakeRoom).
func (e *Engine) Passage(ctx context.Context, by Caller, id string) (corpus.Passage, string, error) {
	r, done, err := e.reader(by)
	if err != nil {
		return corpus.Passage{}, "", err
	}
	defer done()
	return r.Passage(ctx, id)
}

// List returns passages in the order of the bytes of their ids: at most limit of those after an id ("": from the
// first), and fewer where they would have more than Limits.AnswerBytes. next is the id after which others follow, ""
// where none do. Before it reads a text it takes room (Caller.TakeRoom).
func (e *Engine) List(
	ctx context.Context,
	by Caller,
	after string,
	limit int,
) (passages []corpus.Passage, next string, err error) {
	r, done, err := e.reader(by)
	if err != nil {
		return nil, "", err
	}
	defer done()
	return r.List(ctx, after, limit)
}

// Sample returns at most n passages that were chosen without a question, of those that the caller may see. It takes
// room before it reads the texts (Caller.TakeRoom).
func (e *Engine) Sample(ctx context.Context, by Caller, n int) ([]corpus.Passage, error) {
	r, done, err := e.reader(by)
	if err != nil {
		return nil, err
	}
	defer done()
	return r.Sample(ctx, n)
}

// Documents returns documents as searches see them. next is the id after which others may follow, "" where none do: a
// request that looks for a few of many ends early, maybe with none. Before it reads their passages it takes room
// (Caller.TakeRoom).
func (e *Engine) Documents(
	ctx context.Context,
	by Caller,
	q lookup.DocumentsRequest,
) (found []corpus.Document, next string, err error) {
	r, done, err := e.reader(by)
	if err != nil {
		return nil, "", err
	}
	defer done()
	return r.Documents(ctx, q)
}

// DocumentText returns the text of a document as searches see it, from the passage with the number from (from 1) on, of
// as many passages as have at most this many bytes as they are stored, and of one at least. A document or a passage
// that is not there is an *Error of kind NotFound. It takes room before it reads (Caller.TakeRoom).
func (e *Engine) DocumentText(
	ctx context.Context,
	by Caller,
	id string,
	from, most int,
) (lookup.DocumentText, error) {
	r, done, err := e.reader(by)
	if err != nil {
		return lookup.DocumentText{}, err
	}
	defer done()
	return r.DocumentText(ctx, id, from, most)
}

// Count returns how many passages a filter lets through, as searches see them. A filter that cannot be followed is an
// *Error.
func (e *Engine) Count(ctx context.Context, f storage.Filter) (int, error) {
	r, done, err := e.reader(Caller{})
	if err != nil {
		return 0, err
	}
	defer done()
	return r.Count(ctx, f)
}

// Misfits returns, for each field with a declared type, the values that do not have it. Fields without such values are
// left out.
func (e *Engine) Misfits(ctx context.Context) ([]lookup.Misfits, error) {
	r, done, err := e.reader(Caller{})
	if err != nil {
		return nil, err
	}
	defer done()
	return r.Misfits(ctx)
}

// Visible reports whether the caller of a context may see a passage.
func (e *Engine) Visible(ctx context.Context, passage *corpus.Passage) bool {
	if !identity.IsRestricted(ctx) {
		return true
	}
	view := e.pin()
	defer view.Release()
	return view.Visible(ctx, passage)
}
