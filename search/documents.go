package search

import (
	"context"
	"fmt"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// DocumentsRequest asks for documents in the order of the ids of their first passages.
type DocumentsRequest struct {
	After  string // the id of a document: those behind it; "": from the first
	Prefix string // of their ids
	Match  string // is in their ids or titles, whatever the case of its letters
	Limit  int
}

// documentsLooked is how many documents one request looks at when it searches for some.
const documentsLooked = 2000

// Documents returns documents as searches see them. next is the id after which others may
// follow, "" where none do: a request that looks for a few of many ends early, maybe with
// none. Before it reads their passages it takes room (Caller.TakeRoom).
func (e *Engine) Documents(
	ctx context.Context, by Caller,
	r DocumentsRequest,
) (found []corpus.Document, next string, err error) {
	l, err := e.begin()
	if err != nil {
		return nil, "", err
	}
	defer l.panel.Users.Leave()
	view := e.pin()
	defer view.Release()
	err = run.Guard(func() (err error) {
		found, next, err = e.documents(ctx, by, view, r)
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

func (e *Engine) documents(
	ctx context.Context,
	by Caller,
	view *snapshot.Pinned,
	r DocumentsRequest,
) (found []corpus.Document, next string, err error) {
	from := view.Passages()
	after := r.Prefix // the ids that begin with it come after it
	if r.After != "" {
		after = max(after, corpus.PassageID(r.After, 1))
	}
	match := strings.ToLower(r.Match)
	taken := 0
	for looked := 0; ; {
		if err := turn.Yield(ctx); err != nil {
			return nil, "", err
		}
		firsts, err := from.DocumentsAfter(ctx, after, r.Limit+1)
		if err != nil {
			return nil, "", err
		}
		passages, err := e.readFirsts(ctx, by, from, firsts, &taken)
		if err != nil {
			return nil, "", err
		}
		for i := range passages {
			d, _, ok := corpus.DocumentOf(&passages[i])
			switch {
			case !strings.HasPrefix(passages[i].ID, r.Prefix):
				return found, "", nil
			case !ok || !view.Visible(ctx, &passages[i]): // or deleted in between
				continue
			case len(found) == r.Limit || looked >= documentsLooked:
				return found, next, nil
			}
			looked++
			next = d.ID
			if strings.Contains(strings.ToLower(d.ID), match) || strings.Contains(strings.ToLower(d.Title), match) {
				found = append(found, d)
			}
		}
		if len(firsts) <= r.Limit {
			return found, "", nil
		}
		after = passages[len(passages)-1].ID
	}
}

// readFirsts reads passages, for which it takes the room that was not taken before.
func (e *Engine) readFirsts(
	ctx context.Context,
	by Caller,
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
	room = min(room, e.limits.RoomBytes())
	if room > *taken {
		if err := by.takeRoom(ctx, room-*taken); err != nil {
			return nil, err
		}
		*taken = room
	}
	return from.Read(ctx, firsts)
}
