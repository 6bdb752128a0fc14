package search

import (
	"context"
	"time"

	"example.org/conclave/search/reply"
)

// Observer gets the progress of searches, stage by stage and source by source, for metrics and the log. Several
// goroutines call it at once, also after the answer was given (for a source that came too late), so it must be safe for
// concurrent use and quick. The context is the one that Search got, or a child of it.
type Observer interface {
	// Stage reports how long a stage took: of one source ("encode", "head", "search",
	// "confidence"), or with source "" of the request ("sources", "complete",
	// "fuse", "rerank", "read", "fetch", "generate").
	Stage(ctx context.Context, source, stage string, took time.Duration)
	// Source reports the status of a source (reply.Source.Status), and the cause if it is not "ok". A source that
	// answered is reported again, as failed, if its exact scores of other passages or an explanation could not be
	// computed.
	Source(ctx context.Context, source, status string, cause error)
	// Answer reports an answer before it is given.
	Answer(ctx context.Context, answer reply.Response)
}

// NoObserver is an Observer that does nothing.
type NoObserver struct{}

// Stage does nothing.
func (NoObserver) Stage(context.Context, string, string, time.Duration) {}

// Source does nothing.
func (NoObserver) Source(context.Context, string, string, error) {}

// Answer does nothing.
func (NoObserver) Answer(context.Context, reply.Response) {}
