package lookup

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// List returns the passages that the caller may see, in the order of their ids' bytes: those after the id after ("":
// from the first), at most limit, and fewer if they have more than r.AnswerBytes together. next is the id to pass as
// after for the passages that follow; "" if there are none. It waits for memory (Reader.TakeRoom). It returns a
// *fault.Error of kind Unavailable if passages cannot be read. An error of TakeRoom is returned as it is.
func (r Reader) List(
	ctx context.Context,
	after string,
	limit int,
) (passages []corpus.Passage, next string, err error) {
	view := r.View
	taken := 0
	for more := true; more && len(passages) == 0; more = more && identity.IsRestricted(ctx) {
		passages, more, err = r.listStep(ctx, view, after, limit, &taken)
		if err == nil {
			err = turn.Yield(ctx)
		}
		if err != nil {
			return nil, "", err
		}
		if len(passages) > 0 {
			after = passages[len(passages)-1].ID
		}
		passages = slices.DeleteFunc(passages, func(p corpus.Passage) bool {
			return storage.IsDeleted(p) || !view.Visible(ctx, &p)
		})
		next = ""
		if more {
			next = after
			if len(passages) > 0 && identity.IsRestricted(ctx) {
				next = passages[len(passages)-1].ID // ids of others are not said
			}
		}
	}
	return passages, next, nil
}

// listStep reads the passages of one step of List, visible or not. more says whether others follow. It waits for the
// memory that they take beyond *taken, and sets *taken. It fails if there is no memory for them or the store fails.
func (r Reader) listStep(
	ctx context.Context,
	view *snapshot.PinnedView,
	after string,
	limit int,
	taken *int,
) (passages []corpus.Passage, more bool, err error) {
	unreadable := func(err error) error {
		return &fault.Error{
			Kind:   fault.Unavailable,
			Code:   "unavailable",
			Detail: "the passages could not be read; the server's log says why",
			Err:    fmt.Errorf("listing passages: %w", err),
		}
	}
	var ordinals []rank.Ordinal
	var room int
	err = run.Guard(func() (err error) {
		ordinals, more, room, err = r.listOrdinals(ctx, view.Passages(), after, limit)
		return err
	})
	if err != nil {
		return nil, false, unreadable(err)
	}
	if room > *taken {
		if err := r.takeRoom(ctx, room-*taken); err != nil {
			return nil, false, err
		}
		*taken = room
	}
	err = run.Guard(func() (err error) {
		passages, err = view.Passages().Read(ctx, ordinals)
		return err
	})
	if err != nil {
		return nil, false, unreadable(err)
	}
	return passages, more, nil
}

// listOrdinals returns the ordinals of the passages after the id after: at most limit, and fewer if they have more than
// r.AnswerBytes together. more says whether others follow; room is the memory that the passages take. It reads no text,
// and fails if the store does.
func (r Reader) listOrdinals(
	ctx context.Context,
	from storage.Passages,
	after string,
	limit int,
) (ordinals []rank.Ordinal, more bool, room int, err error) {
	ordinals, err = from.After(ctx, after, limit+1)
	if err != nil {
		return nil, false, 0, err
	}
	bytes := 0
	for n, ordinal := range ordinals {
		size, err := from.Size(ordinal)
		if err != nil {
			return nil, false, 0, err
		}
		if n == limit || n > 0 && bytes+size > r.AnswerBytes {
			return ordinals[:n], true, min(room, answering.Copies*r.AnswerBytes), nil
		}
		bytes += size
		room += PassageRoom(size)
	}
	return ordinals, false, min(room, answering.Copies*r.AnswerBytes), nil
}
