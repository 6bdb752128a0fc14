package lookup

import (
	"context"
	"fmt"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// DocumentsRequest asks for a list of documents, in the order of the ids of their first passages.
type DocumentsRequest struct {
	After  string // the id of the document after which the list begins; "": at the first
	Prefix string // the ids begin with it
	Match  string // the ids or titles contain it, in upper or lower case
	Limit  int    // the greatest number of documents
}

// documentsLooked is the greatest number of documents that one request compares with Match.
const documentsLooked = 2000

// Documents returns documents that the caller may see. next is the value of After for the documents that may follow; ""
// if there are none. A request with Match may return fewer documents than Limit, even none, and yet a next, since it
// ends after documentsLooked. It waits for memory (Reader.TakeRoom). It returns a *fault.Error of kind Unavailable if
// passages cannot be read.
func (r Reader) Documents(
	ctx context.Context,
	q DocumentsRequest,
) (found []corpus.Document, next string, err error) {
	view := r.View
	err = run.Guard(func() (err error) {
		found, next, err = r.listDocuments(ctx, view, q)
		return err
	})
	if err != nil {
		return nil, "", &fault.Error{
			Kind:   fault.Unavailable,
			Code:   "unavailable",
			Detail: "the documents could not be read; the server's log says why",
			Err:    fmt.Errorf("listing documents: %w", err),
		}
	}
	return found, next, nil
}

// listDocuments does the work of Documents: it reads the first passages of documents, in steps of q.Limit+1, and keeps
// those that are visible and match. It panics if the store does, returns the errors of the store as they are, and those
// of TakeRoom and ctx.
func (r Reader) listDocuments(
	ctx context.Context,
	view *snapshot.PinnedView,
	q DocumentsRequest,
) (found []corpus.Document, next string, err error) {
	from := view.Passages()
	after := q.Prefix // the ids that begin with it come after it
	if q.After != "" {
		after = max(after, corpus.PassageID(q.After, 1))
	}
	match := strings.ToLower(q.Match)
	taken := 0
	for looked := 0; ; {
		if err := turn.Yield(ctx); err != nil {
			return nil, "", err
		}
		firsts, err := from.DocumentsAfter(ctx, after, q.Limit+1)
		if err != nil {
			return nil, "", err
		}
		passages, err := r.readFirsts(ctx, from, firsts, &taken)
		if err != nil {
			return nil, "", err
		}
		for i := range passages {
			d, _, ok := corpus.DocumentOf(&passages[i])
			switch {
			case !strings.HasPrefix(passages[i].ID, q.Prefix):
				return found, "", nil
			case !ok || !view.Visible(ctx, &passages[i]): // or deleted in between
				continue
			case len(found) == q.Limit || looked >= documentsLooked:
				return found, next, nil
			}
			looked++
			next = d.ID
			if strings.Contains(strings.ToLower(d.ID), match) || strings.Contains(strings.ToLower(d.Title), match) {
				found = append(found, d)
			}
		}
		if len(firsts) <= q.Limit {
			return found, "", nil
		}
		after = passages[len(passages)-1].ID
	}
}

// readFirsts reads the passages firsts from a store. *taken is the memory that the request has already: if they need
// more, it first waits for the difference and raises *taken. It fails if there is no memory, or sizes or passages
// cannot be read.
func (r Reader) readFirsts(
	ctx context.Context,
	from storage.Passages,
	firsts []rank.Ordinal,
	taken *int,
) ([]corpus.Passage, error) {
	room := 0
	for _, o := range firsts {
		size, err := from.Size(o)
		if err != nil {
			return nil, err
		}
		room += PassageRoom(size)
	}
	room = min(room, answering.Copies*r.AnswerBytes)
	if room > *taken {
		if err := r.takeRoom(ctx, room-*taken); err != nil {
			return nil, err
		}
		*taken = room
	}
	return from.Read(ctx, firsts)
}
