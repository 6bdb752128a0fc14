package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// askResult is what asking the sources gave: their findings, and how the question was changed before.
type askResult struct {
	found       *sources.Findings  // for the question
	corrections []reply.Correction // of its misspelt words
	doubt       string             // what was not searched for corrections, for users; "": all was
	synonyms    []reply.Expansion  // that were added to its words
	part        string             // the part of a long question that was asked; "": all of it
	earlier     *sources.Findings  // for the question together with the messages before it; nil: there are none
	about       answering.Topic    // of the messages before the question
	searched    time.Time          // when everything but a generator on another machine has to be done (divideTime)
}

// untilSearched returns a copy of ctx for all work but a remote generator's. It also ends at o.searched if the request
// has time reserved for a remote generator (WritingTime). Call the returned function when the work is done.
func (o *askResult) untilSearched(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.found.Inquiry.WritingTime == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, o.searched)
}

// checkAsked returns an error if the request ends after the sources were asked: its caller is gone, or the store
// refused its filter.
func checkAsked(ctx context.Context, o *askResult) error {
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	if o.found.Refused != nil {
		return o.found.Refused
	}
	return nil
}
