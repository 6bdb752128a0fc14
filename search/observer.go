package search

import (
	"context"
	"time"

	"example.org/conclave/search/reply"
)

// Observer is told how a search went, stage by stage and source by source, for
// metrics and the log. It is called from several goroutines at once, also
// after the answer was given (by a source that came too late), and must be
// quick. The context is the one that Search was
// called with, or a child of it.
type Observer interface {
	// Stage reports how long a stage took: of one source ("encode", "head", "search",
	// "confidence"), or with source "" of the request ("sources", "complete",
	// "fuse", "rerank", "read", "fetch", "generate").
	Stage(ctx context.Context, source, stage string, took time.Duration)
	// Source reports how a source fared: its status as in Source.Status, and
	// for the log the cause when it is not "ok". A source that answered is
	// reported once more, as failed, when its true scores for the others'
	// passages or an explanation could not be had.
	Source(ctx context.Context, source, status string, cause error)
	// Answer reports an answer before it is given.
	Answer(ctx context.Context, answer reply.Response)
}

// NoObserver ignores what it is told.
type NoObserver struct{}

// Stage implements Observer.
func (NoObserver) Stage(context.Context, string, string, time.Duration) {}

// Source implements Observer.
func (NoObserver) Source(context.Context, string, string, error) {}

// Answer implements Observer.
func (NoObserver) Answer(context.Context, reply.Response) {}
