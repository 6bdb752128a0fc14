package search

import (
	"context"
	"time"

	"example.org/conclave/search/reply"
	"example.org/conclave/search/turn"
)

// Caller is what an Engine has to know of whoever called one of its methods, beside the request. The zero value is a
// caller that has no limit of memory and follows nothing. The deadline, the caller's identity (search/access), its turn
// to compute (search/turn) and its trace are in the context.
type Caller struct {
	// Arrived is when the request came in: its time runs from then. Zero: from the call.
	Arrived time.Time
	// TakeRoom waits until there is memory for so many bytes of texts, and returns an error that ends the request. It is
	// called once for each answer before its texts are read; in a batch, only after the answer before was delivered. The
	// caller frees the memory when the answer is written. nil: there is always room.
	TakeRoom func(ctx context.Context, bytes int) error
	// Wait is called when a search begins to wait for a model on another machine, and what it returns when the search
	// goes on, both in the goroutine that searches. nil: nobody is told.
	Wait func() (goOn func())
	// Watching is told of an answer while it is made.
	Watching Watching
}

// Watching is told of an answer while it is made, in the goroutine that searches. A nil function is not called.
type Watching struct {
	// Found is told the response before an answer is generated. Its error ends the
	// search.
	Found func(reply.Response) error
	// Written is told the generated text so far, whenever it is longer.
	Written func(text string)
	// Sentence is told each sentence as Writing.Sentence is.
	Sentence func(s reply.WrittenSentence)
}

// takeRoom waits until the caller has memory for so many bytes, without the turn of ctx's step meanwhile. It returns
// the error of Caller.TakeRoom.
func (c Caller) takeRoom(ctx context.Context, bytes int) error {
	if c.TakeRoom == nil {
		return nil
	}
	return turn.Elsewhere(ctx, func() error { return c.TakeRoom(ctx, bytes) })
}

// wait tells the caller that the search waits for a model on another machine, and returns a function that tells it that
// the search goes on.
func (c Caller) wait() (goOn func()) {
	if c.Wait == nil {
		return func() {}
	}
	return c.Wait()
}
