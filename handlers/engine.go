package handlers

import (
	"context"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Engine answers the requests of this package; *search.Engine is one.
type Engine interface {
	// Search answers a request. Its errors, and those of the methods below, are a *fault.Error, or the context's if the
	// caller is gone.
	Search(ctx context.Context, by search.Caller, r search.Request) (reply.Response, error)
	// Batch answers requests and calls deliver with each answer, in their order. The error of one search is in its
	// answer. It returns the first error of deliver, which ends the batch.
	Batch(ctx context.Context, by search.Caller, requests []search.Request, deliver func(search.Answer) error) error
	// Embed returns an expert's vectors of texts.
	Embed(ctx context.Context, by search.Caller, r lookup.EmbedRequest) (lookup.EmbedResponse, error)
	// Rerank returns scores of how well texts answer a question.
	Rerank(ctx context.Context, by search.Caller, r lookup.RerankRequest) (lookup.RerankResponse, error)
	// Experts returns the descriptions of the experts, and Expert that of the one with this name.
	Experts() []learned.ExpertInfo
	Expert(name string) (learned.ExpertInfo, error)
	// Readers returns the descriptions of the readers and generators, and Rerankers those of the rerankers, each with
	// the default first.
	Readers() []learned.ReaderInfo
	Rerankers() []learned.RerankerInfo
	// Methods returns the fusion methods, and whether each can answer.
	Methods() []search.MethodInfo
	// Passage returns a passage and its version, fit for an ETag.
	Passage(ctx context.Context, by search.Caller, id string) (passage corpus.Passage, version string, err error)
	// Visible reports whether the requests of a context may see a passage (identity.Restrict).
	Visible(ctx context.Context, passage *corpus.Passage) bool
	// List returns up to limit passages with ids after an id, and the id to go on after; "" at the end.
	List(
		ctx context.Context, by search.Caller, after string, limit int,
	) (passages []corpus.Passage, next string, err error)
	// Sample returns up to n random passages that the caller may see.
	Sample(ctx context.Context, by search.Caller, n int) ([]corpus.Passage, error)
	// Documents returns the first documents after the request's id, and the id to go on after; "" at the end.
	Documents(
		ctx context.Context, by search.Caller, r lookup.DocumentsRequest,
	) (found []corpus.Document, next string, err error)
	// Suggest returns completions of what somebody begins to type; collecting says that titles are still collected.
	Suggest(
		ctx context.Context, by search.Caller, q lookup.SuggestRequest,
	) (found []lookup.Suggestion, collecting bool, err error)
	// DocumentText returns the text of a document from the passage with the number from on, counted from 1: of as many
	// passages as have at most most stored bytes together, and of one at least.
	DocumentText(ctx context.Context, by search.Caller, id string, from, most int) (lookup.DocumentText, error)
	// Count returns how many passages that the caller may see match a filter.
	Count(ctx context.Context, f storage.Filter) (int, error)
	// Misfits returns the values of metadata fields that do not fit their declared types.
	Misfits(ctx context.Context) ([]lookup.Misfits, error)
	// Generation returns the number of the newest generation, and how many passages it has.
	Generation() (number uint64, passages int)
	// Limits returns the limits of requests, and Defaults what a search gets that does not say otherwise.
	Limits() search.Limits
	Defaults() search.Defaults
}

// loadedEngine returns the collection's engine, or the problem that it is not loaded yet.
func (k *Collection) loadedEngine() (Engine, error) {
	if e := k.engine.Load(); e != nil {
		return *e, nil
	}
	return nil, schema.NewProblem(
		"not_ready", "The models and the index are still being loaded; /readyz tells how far they are.",
	)
}
