// Package lookup reads passages and documents by their ids, lists and counts them, and encodes texts: what an Engine
// does without asking sources.
package lookup

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// Reader reads passages and documents of one generation of a collection, without asking sources.
type Reader struct {
	View        *snapshot.Pinned
	AnswerBytes int // of an answer at most
	// TakeRoom waits until there is memory for so many bytes of texts; its error ends the request. nil: there is always
	// room.
	TakeRoom func(ctx context.Context, bytes int) error
}

// takeRoom waits until there is memory for so many bytes, and returns the error of TakeRoom.
func (r Reader) takeRoom(ctx context.Context, bytes int) error {
	if r.TakeRoom == nil {
		return nil
	}
	return r.TakeRoom(ctx, bytes)
}

// PassageRoom returns the room that a passage takes which has so many bytes as it is stored.
func PassageRoom(bytes int) int {
	return answering.Copies * (bytes + answering.ResultBytes + answering.MetadataGrows*min(bytes, answering.MetadataSmall))
}

// Sample reads at most n passages that were chosen without a question, of those that the requests of
// the context may see. It takes room before it reads the texts (Reader.TakeRoom).
func (r Reader) Sample(ctx context.Context, n int) (sample []corpus.Passage, err error) {
	view := r.View
	chosen := view.Passages().Sample(n)
	room := 0
	err = run.Guard(func() error {
		for _, ordinal := range chosen {
			size, err := view.Passages().Size(ordinal)
			if err != nil {
				return err
			}
			room += PassageRoom(size)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.takeRoom(ctx, room); err != nil {
		return nil, err
	}
	err = run.Guard(func() error {
		sample, err = view.Passages().Read(ctx, chosen)
		return err
	})
	sample = slices.DeleteFunc(sample, func(p corpus.Passage) bool {
		return storage.IsDeleted(p) || !view.Visible(ctx, &p)
	})
	return sample, err
}

// Passage returns a passage and its version; an unknown id is an *Error of
// kind NotFound. It takes room before it reads the text (Reader.TakeRoom).
func (r Reader) Passage(ctx context.Context, id string) (corpus.Passage, string, error) {
	view := r.View
	var passage corpus.Passage
	var ordinal rank.Ordinal
	var ok bool
	var size int
	err := run.Guard(func() (err error) {
		ordinal, ok, err = view.Passages().Ordinal(ctx, id)
		if err == nil && ok {
			size, err = view.Passages().Size(ordinal)
		}
		return err
	})
	if err == nil && ok {
		if err := r.takeRoom(ctx, PassageRoom(size)); err != nil {
			return corpus.Passage{}, "", err
		}
		err = run.Guard(func() error {
			read, err := view.Passages().Read(ctx, []rank.Ordinal{ordinal})
			if err == nil {
				passage = read[0]
				ok = !storage.IsDeleted(passage) && view.Visible(ctx, &passage)
			}
			return err
		})
	}
	if err == nil && !ok {
		return corpus.Passage{}, "", &fault.Error{
			Kind:   fault.NotFound,
			Code:   "unknown_passage",
			Detail: fmt.Sprintf("there is no passage %s", wording.Quote(id)),
		}
	}
	if err != nil {
		return corpus.Passage{}, "", &fault.Error{Kind: fault.Unavailable, Code: "unavailable",
			Detail: fmt.Sprintf(
				"passage %s could not be read; the server's log says why",
				wording.Quote(id),
			), Err: fmt.Errorf("reading passage %s: %w", wording.Quote(id), err)}
	}
	return passage, passage.Version(), nil
}
