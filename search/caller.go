package search

import (
	"context"
	"time"

	"example.org/conclave/search/reply"
	"example.org/conclave/search/turn"
)

// Caller is what an Engine needs to know of its caller in addition to the request. The zero value has no limit of
// memory and watches nothing. The deadline, the caller's identity (internal/identity), its turn to compute
// (search/turn) and its trace are in the context.
type Caller struct {
	// Arrived is when the request arrived, from which its timeout counts; zero: when the method is called.
	Arrived time.Time
	// TakeRoom waits until there is memory for so many bytes of texts and takes it; an error ends the request. It is
	// called before texts are read, at least once for each answer; in a batch, results are read only after the answer
	// before was delivered. The caller frees the memory when the answer is written. nil: there is always enough.
	TakeRoom func(ctx context.Context, bytes int) error
	// Wait is called when a search begins to wait for a model on another machine, and goOn when the search continues,
	// both in the goroutine that searches. nil: it is not called.
	Wait func() (goOn func())
	// Watching has functions that are called while an answer is made.
	Watching Watchers
}

// Watchers has functions that are called while an answer is made, in the goroutine that searches. A nil function is not
// called.
type Watchers struct {
	// Found gets the response before a generator writes. An error of it ends the search.
	Found func(reply.Response) error
	// Written gets the whole generated text so far, each time it has grown.
	Written func(text string)
	// Sentence gets each complete sentence, as learned.WriteRequest.Sentence does.
	Sentence func(s reply.WrittenSentence)
}

// takeRoom waits until the caller has memory for so many bytes, and returns the error of c.TakeRoom; it returns nil at
// once if that is not set. While it waits, another request may compute in the place of this one (turn.Elsewhere).
func (c Caller) takeRoom(ctx context.Context, bytes int) error {
	if c.TakeRoom == nil {
		return nil
	}
	return turn.Elsewhere(ctx, func() error { return c.TakeRoom(ctx, bytes) })
}

// reportWait tells the caller that the search waits for a model on another machine. goOn has to be called when the
// search continues. It is never nil.
func (c Caller) reportWait() (goOn func()) {
	if c.Wait == nil {
		return func() {}
	}
	return c.Wait()
}
