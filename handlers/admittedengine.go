package handlers

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// AdmittedEngine is the engine of one admitted request. What its methods use of processors, memory and time is counted
// for that request.
type AdmittedEngine interface {
	Engine
	// Costs states what the request will use, if only its body tells. It fails if c is not valid.
	Costs(c front.Cost) error
	// Encode returns an answer as one line of JSON. It waits for a processor, and for memory for this many copies
	// of the text.
	Encode(answer any, copies int) ([]byte, error)
}

// DocumentKeeper is an AdmittedEngine that can also change documents. The server gives it to adapters.
type DocumentKeeper interface {
	AdmittedEngine
	// KeepDocument adds or replaces a document by a file, AmendDocument replaces its tags and metadata, and
	// DropDocument deletes it; there is false if there was none. They return when searches see the change.
	KeepDocument(ctx context.Context, id, contentType string, data []byte) (KeptDocument, error)
	AmendDocument(ctx context.Context, id string, tags []string, metadata map[string]any) (KeptDocument, error)
	DropDocument(ctx context.Context, id string) (there bool, err error)
	// DocumentNamed returns the latest stored version of a document; text asks for its text too.
	DocumentNamed(ctx context.Context, id string, text bool) (KeptDocument, error)
	// Collection returns the name of the collection.
	Collection() string
}

// admittedEngine is the engine as one call uses it: each method takes the processors, memory and time of the call. It
// does not embed the engine, so that no method can bypass admission.
type admittedEngine struct {
	engine Engine
	call   *call
}

var _ AdmittedEngine = (*admittedEngine)(nil)

// Collection implements DocumentKeeper: it returns the name of the collection.
func (e *admittedEngine) Collection() string { return e.call.api.name }

// OneOfSeveral reports whether the server has other collections.
func (e *admittedEngine) OneOfSeveral() bool { return e.call.api.options.Collections != nil }

// admittedEngine returns the engine of the call's collection; a problem while it is not loaded yet.
func (c *call) admittedEngine() (*admittedEngine, error) {
	engine, err := c.api.loadedEngine()
	if err != nil {
		return nil, err
	}
	return &admittedEngine{engine, c}, nil
}

// enterEngine returns a context and a caller for one call of the engine, and gives the call's processor back meanwhile
// (lendTurn). The context has the caller's restriction and group; it ends at end (the zero time: never), with the
// request, or with ctx, whichever is first. The caller is by with the request's arrival and memory. Call the returned
// function when the engine has answered.
func (e *admittedEngine) enterEngine(
	ctx context.Context,
	by search.Caller,
	end time.Time,
) (context.Context, search.Caller, func()) {
	r := e.call.r
	goOn := e.call.lendTurn()
	if key := front.ExchangeOf(r.Context()).Key; key != nil { // a tool's context has not the request's values
		ctx = identity.WithName(identity.Restrict(ctx, key.Filter), key.Name)
	}
	by.Arrived = front.ExchangeOf(r.Context()).Arrived
	by.TakeRoom = e.call.api.admission.AnswerMemoryOf(r)
	ctx, cancel := context.WithCancelCause(identity.WithGroup(ctx, front.ExchangeOf(r.Context()).Group))
	if earlier, ok := r.Context().Deadline(); ok && (end.IsZero() || earlier.Before(end)) {
		end = earlier
	}
	stop := context.AfterFunc(r.Context(), func() {
		if !errors.Is(r.Context().Err(), context.DeadlineExceeded) {
			cancel(r.Context().Err())
		}
	})
	release := func() {
		stop()
		cancel(nil)
		goOn()
	}
	if end.IsZero() {
		return ctx, by, release
	}
	ctx, over := context.WithDeadline(ctx, end)
	return ctx, by, func() { over(); release() }
}

// inTurn waits for a processor for the call's group, runs ask with it, and returns its error, or ctx's if that ends
// first. It is for requests that the engine answers from its indexes without models.
func (e *admittedEngine) inTurn(ctx context.Context, ask func(context.Context) error) error {
	return turn.Do(ctx, e.call.api.options.Admission, ask)
}

// Search admits the search by its cost, asks the engine, and returns the response without what the caller may not see.
// It returns a problem if the search is refused, else the engine's error.
func (e *admittedEngine) Search(ctx context.Context, by search.Caller, r search.Request) (reply.Response, error) {
	d := e.engine.Defaults()
	end := front.ExchangeOf(e.call.r.Context()).Arrived.Add(timeoutOf(r, e.engine))
	if p := e.admitSearch(costOf([]search.Request{r}, 1, d), end); p != nil {
		return reply.Response{}, p
	}
	ctx, by, done := e.enterEngine(ctx, by, end)
	defer done()
	if place := front.ExchangeOf(e.call.r.Context()).Admitted.CurrentPlace(); place != nil {
		by.Wait = place.Idle
	}
	response, err := e.engine.Search(ctx, by, r)
	if err == nil {
		e.call.api.noteAnswer(e.call.r.Context(), r, response)
		e.call.api.noteAnswered(e.call.r.Context(), front.CallerName(e.call.r), r, response)
	}
	return e.call.api.withoutStages(e.call.r.Context(), response), err
}

// admitSearch admits a search of this cost that has to be answered by end; one of a conversation may wait for its turn.
// It returns the problem of a refusal.
func (e *admittedEngine) admitSearch(cost int, end time.Time) *schema.Problem {
	ctx := e.call.r.Context()
	if e.call.cost.Kind != front.KindConversing {
		return e.call.api.admission.AdmitSearch(ctx, cost, end)
	}
	defer e.call.lendTurn()()
	return e.call.api.admission.AwaitSearch(ctx, cost, end)
}

// Batch asks the engine several searches and calls deliver with each answer, in their order. Before that it exchanges
// the call's place for one of the cost of those that run at a time (costOf). It returns a *schema.Problem (429) at once
// if there is none, else the engine's error.
func (e *admittedEngine) Batch(
	ctx context.Context, by search.Caller,
	requests []search.Request,
	deliver func(search.Answer) error,
) error {
	if p := e.holdPlace(costOf(requests, e.engine.Limits().BatchParallel, e.engine.Defaults())); p != nil {
		return p
	}
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	return e.engine.Batch(ctx, by, requests, func(answer search.Answer) error {
		answer.Response = e.call.api.withoutStages(e.call.r.Context(), answer.Response)
		return deliver(answer)
	})
}

// Embed returns an expert's vectors of texts, by the engine. Before that it exchanges the call's place for one that
// costs as much as so many texts (costOfTexts). It returns a *schema.Problem (429) at once if there is none, else the
// engine's error.
func (e *admittedEngine) Embed(
	ctx context.Context,
	by search.Caller,
	r lookup.EmbedRequest,
) (lookup.EmbedResponse, error) {
	if p := e.holdPlace(costOfTexts(len(r.Input))); p != nil {
		return lookup.EmbedResponse{}, p
	}
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	return e.engine.Embed(ctx, by, r)
}

// Rerank returns a reranker's or reader's scores of texts for a question, by the engine. Before that it exchanges the
// call's place for one that costs as much as so many texts (costOfTexts). It returns a *schema.Problem (429) at once if
// there is none, else the engine's error.
func (e *admittedEngine) Rerank(
	ctx context.Context,
	by search.Caller,
	r lookup.RerankRequest,
) (lookup.RerankResponse, error) {
	if p := e.holdPlace(costOfTexts(len(r.Texts))); p != nil {
		return lookup.RerankResponse{}, p
	}
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	return e.engine.Rerank(ctx, by, r)
}

// Passage returns a passage and its version, as searches see it. It waits for a processor. Its errors are the engine's,
// or the context's.
func (e *admittedEngine) Passage(ctx context.Context, by search.Caller, id string) (corpus.Passage, string, error) {
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	var p corpus.Passage
	var version string
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		p, version, err = e.engine.Passage(ctx, by, id)
		return err
	})
	return p, version, err
}

// Visible reports whether the caller may see a passage.
func (e *admittedEngine) Visible(ctx context.Context, passage *corpus.Passage) bool {
	ctx, _, done := e.enterEngine(ctx, search.Caller{}, time.Time{})
	defer done()
	return e.engine.Visible(ctx, passage)
}

// List returns up to limit passages with ids after an id, and the id to go on after; "" at the end. It waits for a
// processor. Its errors are the engine's, or the context's.
func (e *admittedEngine) List(
	ctx context.Context,
	by search.Caller,
	after string,
	limit int,
) ([]corpus.Passage, string, error) {
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	var found []corpus.Passage
	var next string
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		found, next, err = e.engine.List(ctx, by, after, limit)
		return err
	})
	return found, next, err
}

// Sample returns up to n random passages that the caller may see. It waits for a processor. Its errors are the
// engine's, or the context's.
func (e *admittedEngine) Sample(ctx context.Context, by search.Caller, n int) ([]corpus.Passage, error) {
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	var out []corpus.Passage
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		out, err = e.engine.Sample(ctx, by, n)
		return err
	})
	return out, err
}

// Count returns how many passages that the caller may see match a filter. It waits for a processor. Its errors are the
// engine's, or the context's.
func (e *admittedEngine) Count(ctx context.Context, f storage.Filter) (int, error) {
	ctx, _, done := e.enterEngine(ctx, search.Caller{}, time.Time{})
	defer done()
	var out int
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		out, err = e.engine.Count(ctx, f)
		return err
	})
	return out, err
}

// Misfits returns the values of metadata fields that do not fit their declared types. It waits for a processor. Its
// errors are the engine's, or the context's.
func (e *admittedEngine) Misfits(ctx context.Context) ([]lookup.Misfits, error) {
	ctx, _, done := e.enterEngine(ctx, search.Caller{}, time.Time{})
	defer done()
	var out []lookup.Misfits
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		out, err = e.engine.Misfits(ctx)
		return err
	})
	return out, err
}

// Documents returns the first documents after a request's id, and the id to go on after; "" at the end. It waits for a
// processor. Its errors are the engine's, or the context's.
func (e *admittedEngine) Documents(
	ctx context.Context, by search.Caller,
	r lookup.DocumentsRequest,
) ([]corpus.Document, string, error) {
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	var found []corpus.Document
	var next string
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		found, next, err = e.engine.Documents(ctx, by, r)
		return err
	})
	return found, next, err
}

// Suggest returns completions of what somebody begins to type. It waits for a processor. Its errors are the engine's,
// or the context's.
func (e *admittedEngine) Suggest(
	ctx context.Context, by search.Caller, q lookup.SuggestRequest,
) (found []lookup.Suggestion, collecting bool, err error) {
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	err = e.inTurn(ctx, func(ctx context.Context) (err error) {
		found, collecting, err = e.engine.Suggest(ctx, by, q)
		return err
	})
	return found, collecting, err
}

// DocumentText returns the text of a document from the passage with the number from on, counted from 1: of as many
// passages as have at most `most` stored bytes together, and of one at least. It waits for a processor. Its errors are
// the engine's, or the context's.
func (e *admittedEngine) DocumentText(
	ctx context.Context, by search.Caller,
	id string,
	from, most int,
) (lookup.DocumentText, error) {
	ctx, by, done := e.enterEngine(ctx, by, time.Time{})
	defer done()
	var out lookup.DocumentText
	err := e.inTurn(ctx, func(ctx context.Context) (err error) {
		out, err = e.engine.DocumentText(ctx, by, id, from, most)
		return err
	})
	return out, err
}

// What follows is in memory, and small: the place that every call has is enough.

// Experts returns the descriptions of all experts, without what the caller may not see.
func (e *admittedEngine) Experts() []learned.ExpertInfo {
	all := e.engine.Experts()
	for i := range all {
		all[i] = e.visibleInfo(all[i])
	}
	return all
}

// Expert returns the description of an expert, without what the caller may not see. It fails if there is none of this
// name.
func (e *admittedEngine) Expert(name string) (learned.ExpertInfo, error) {
	info, err := e.engine.Expert(name)
	return e.visibleInfo(info), err
}

// Readers returns the descriptions of the readers and generators.
func (e *admittedEngine) Readers() []learned.ReaderInfo { return e.engine.Readers() }

// Rerankers returns the descriptions of the rerankers.
func (e *admittedEngine) Rerankers() []learned.RerankerInfo { return e.engine.Rerankers() }

// Methods returns the descriptions of the fusion methods.
func (e *admittedEngine) Methods() []search.MethodInfo { return e.engine.Methods() }

// Generation returns the number of the newest generation, and the number of its passages that the caller may see.
func (e *admittedEngine) Generation() (number uint64, passages int) {
	number, passages = e.engine.Generation()
	return number, e.countVisible(passages)
}

// Limits returns the engine's limits.
func (e *admittedEngine) Limits() search.Limits { return e.engine.Limits() }

// Defaults returns what a search gets that does not say otherwise.
func (e *admittedEngine) Defaults() search.Defaults { return e.engine.Defaults() }

// holdPlace exchanges the call's place of cost 1 for one of this cost; it does nothing if the cost is 1 or less. It
// returns nil, or the problem that refuses it (429), and then the call has no place. It never waits.
func (e *admittedEngine) holdPlace(cost int) *schema.Problem {
	if cost <= 1 {
		return nil
	}
	return e.call.api.admission.HoldPlaces(e.call.r.Context(), cost)
}

// Costs announces how many bytes the answer takes beyond those for which the engine takes memory; Encode takes them. It
// returns an error if c is invalid.
func (e *admittedEngine) Costs(c front.Cost) error {
	if err := c.Check(); err != nil {
		return err
	}
	front.ExchangeOf(e.call.r.Context()).Admitted.SetExtra(c)
	return nil
}

// Encode returns an answer as JSON, encoded when a processor is free, and makes the call hold memory for copies times
// its size. It fails if the request ends while it waits, or there is no memory.
func (e *admittedEngine) Encode(answer any, copies int) ([]byte, error) {
	var b bytes.Buffer
	if err := e.call.encodeAnswer(&b, answer); err != nil {
		return nil, err
	}
	if err := e.call.api.admission.GrowAnswer(e.call.r, copies*b.Len()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// passageReader is an Engine that can tell how its experts read a passage. cut: one reads only the beginning; unread:
// one can hardly read it, as text in a script that its vocabulary lacks.
type passageReader interface {
	Reads(p corpus.Passage) (cut, unread bool)
}

// describeReading returns how the experts read a passage. It returns the zero ReadAs if p is nil, the engine is not
// loaded, or the engine cannot tell.
func (a *API) describeReading(p *corpus.Passage) (r ReadAs) {
	engine, err := a.loadedEngine()
	if reader, ok := engine.(passageReader); ok && err == nil && p != nil {
		r.Truncated, r.Unread = reader.Reads(*p)
	}
	return r
}

// withoutStages returns a response without the times of its sources' stages, unless the caller may administer the
// server. The times would tell which questions others have asked: those are encoded in no time.
func (a *API) withoutStages(ctx context.Context, r reply.Response) reply.Response {
	if a.gate.Require(ctx, schema.ScopeAdmin) == nil {
		return r
	}
	r.Sources = slices.Clone(r.Sources)
	for i := range r.Sources {
		r.Sources[i].Took = reply.Took{}
	}
	return r
}
