package search

import (
	"context"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/storage"
)

// newReader returns a reader of the newest generation for a caller. Call done at the end of the request. It fails if
// the engine is closed; done is nil then.
func (e *Engine) newReader(by Caller) (r lookup.Reader, done func(), err error) {
	l, err := e.useLineUp()
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

// Passage returns the passage with an id, and its version. It waits for memory (Caller.TakeRoom). It returns a
// *fault.Error of kind NotFound if the passage does not exist or the caller may not see it, and of kind Unavailable if
// it cannot be read or the engine is closed.
func (e *Engine) Passage(ctx context.Context, by Caller, id string) (corpus.Passage, string, error) {
	r, done, err := e.newReader(by)
	if err != nil {
		return corpus.Passage{}, "", err
	}
	defer done()
	return r.Passage(ctx, id)
}

// List returns the passages that the caller may see, in the order of their ids' bytes: those after the id after ("":
// from the first), at most limit, and fewer if they have more than Limits.AnswerBytes together. next is the id to pass
// as after for the passages that follow; "" if there are none. It waits for memory (Caller.TakeRoom). It fails if a
// passage cannot be read, or the engine is closed.
func (e *Engine) List(
	ctx context.Context,
	by Caller,
	after string,
	limit int,
) (passages []corpus.Passage, next string, err error) {
	r, done, err := e.newReader(by)
	if err != nil {
		return nil, "", err
	}
	defer done()
	return r.List(ctx, after, limit)
}

// Sample returns at most n random passages, without those that the caller may not see. It waits for memory
// (Caller.TakeRoom). It fails if a passage cannot be read, or the engine is closed.
func (e *Engine) Sample(ctx context.Context, by Caller, n int) ([]corpus.Passage, error) {
	r, done, err := e.newReader(by)
	if err != nil {
		return nil, err
	}
	defer done()
	return r.Sample(ctx, n)
}

// Languages returns the codes of the languages of the collection's passages, the most frequent first, by a random
// sample of them; nil if there are none, their languages are not clear, they cannot be read, or the engine is closed.
func (e *Engine) Languages(ctx context.Context) []string {
	r, done, err := e.newReader(Caller{})
	if err != nil {
		return nil
	}
	defer done()
	var codes []string
	if run.Guard(func() error { codes = e.contentWords.Languages(ctx, r.View); return nil }) != nil {
		return nil
	}
	return codes
}

// Documents returns documents that the caller may see. next is the value of After for the documents that may follow; ""
// if there are none. A request with Match may return fewer documents than its limit, even none, and yet a next. It
// waits for memory (Caller.TakeRoom). It fails if the request is invalid, the store cannot be read, or the engine is
// closed.
func (e *Engine) Documents(
	ctx context.Context,
	by Caller,
	q lookup.DocumentsRequest,
) (found []corpus.Document, next string, err error) {
	r, done, err := e.newReader(by)
	if err != nil {
		return nil, "", err
	}
	defer done()
	return r.Documents(ctx, q)
}

// DocumentText returns the text of a document from the passage with the number from on, counted from 1: of as many
// passages as have at most `most` stored bytes together, and of one at least. It waits for memory (Caller.TakeRoom). It
// returns a *fault.Error of kind NotFound if the document does not exist, has no such passage, or may not be seen by
// the caller.
func (e *Engine) DocumentText(
	ctx context.Context,
	by Caller,
	id string,
	from, most int,
) (lookup.DocumentText, error) {
	r, done, err := e.newReader(by)
	if err != nil {
		return lookup.DocumentText{}, err
	}
	defer done()
	return r.DocumentText(ctx, id, from, most)
}

// Count returns how many passages match a filter and may be seen by the caller. It returns a *fault.Error of kind
// Invalid if the filter is invalid or does not fit the collection's fields, and of kind Unavailable if counting fails.
func (e *Engine) Count(ctx context.Context, f storage.Filter) (int, error) {
	r, done, err := e.newReader(Caller{})
	if err != nil {
		return 0, err
	}
	defer done()
	return r.Count(ctx, f)
}

// Misfits returns, for each metadata field with a declared type, the most frequent values that do not fit it (at most
// ten) and the number of passages with such values. Fields without any are left out. It fails if the store cannot
// count.
func (e *Engine) Misfits(ctx context.Context) ([]lookup.Misfits, error) {
	r, done, err := e.newReader(Caller{})
	if err != nil {
		return nil, err
	}
	defer done()
	return r.Misfits(ctx)
}

// Visible reports whether the caller in the context may see a passage, by the passage's tags and metadata.
func (e *Engine) Visible(ctx context.Context, passage *corpus.Passage) bool {
	if !identity.IsRestricted(ctx) {
		return true
	}
	view := e.pin()
	defer view.Release()
	return view.Visible(ctx, passage)
}
