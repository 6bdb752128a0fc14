package search

import (
	"context"
	"time"

	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// outcome is what the sources found for a question of a request.
type outcome struct {
	found       *sources.Findings  // for the question
	corrections []reply.Correction // of misspelt words of it
	doubt       string             // of the corrections, for the user; "": there is none
	synonyms    []reply.Expansion  // that were searched for with its words
	part        string             // the part of a long question that was asked; "": all of it
	earlier     *sources.Findings  // for the question with what was said before it; nil: nothing was
	about       answering.Topic    // of the messages before the question
	searched    time.Time          // when everything but the writing of an answer has to be done
}

// untilSearched returns a context that ends when everything but the writing of an answer has to be done.
func (o *outcome) untilSearched(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.found.Inquiry.Writing == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, o.searched)
}

// checkAsked returns the error of a request that ends after the sources were asked: its caller has gone, or its filter
// cannot be followed.
func checkAsked(ctx context.Context, o *outcome) error {
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	if o.found.Refused != nil {
		return o.found.Refused
	}
	return nil
}
