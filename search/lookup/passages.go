// Package lookup reads passages and documents by their ids, lists and counts them, and encodes texts: the requests to
// an Engine that ask no sources.
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

// Reader reads passages and documents of one generation of a collection. All its methods respect what the caller in the
// context may see.
type Reader struct {
	View        *snapshot.PinnedView
	AnswerBytes int // the greatest size of an answer
	// TakeRoom waits until there is memory for so many bytes of texts and takes it; its error ends the request. nil:
	// there is always enough.
	TakeRoom func(ctx context.Context, bytes int) error
}

// takeRoom waits until there is memory for so many bytes, and returns the error of r.TakeRoom. Without TakeRoom it
// returns nil at once.
func (r Reader) takeRoom(ctx context.Context, bytes int) error {
	if r.TakeRoom == nil {
		return nil
	}
	return r.TakeRoom(ctx, bytes)
}

// PassageRoom returns the memory in bytes that a passage of so many stored bytes takes in an answer.
func PassageRoom(bytes int) int {
	return answering.Copies * (bytes + answering.ResultBytes + answering.MetadataGrows*min(bytes, answering.MetadataSmall))
}

// Sample returns at most n random passages, without those that the caller may not see. It waits for memory
// (Reader.TakeRoom). It fails if passages cannot be read. An error of TakeRoom is returned as it is.
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

// Passage returns the passage with an id, and its version. It waits for memory (Reader.TakeRoom). It returns a
// *fault.Error of kind NotFound if the passage does not exist or the caller may not see it, and of kind Unavailable if
// it cannot be read.
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
				"passage %s could not be read; the server's log says why", wording.Quote(id),
			), Err: fmt.Errorf("reading passage %s: %w", wording.Quote(id), err)}
	}
	return passage, passage.Version(), nil
}
