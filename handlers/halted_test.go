package handlers

import (
	"context"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
)

// halted is an engine, a collection and its jobs that wait for something that never comes,
// wherever they can wait, while it is closed; open, they answer.
type halted struct {
	Engine
	closed bool
}

func (s *halted) wait(ctx context.Context) error {
	if s.closed {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s *halted) Search(ctx context.Context, _ search.Caller, r search.Request) (out reply.Response, err error) {
	if err := s.wait(ctx); err != nil {
		return out, err
	}
	return s.Engine.Search(ctx, search.Caller{}, r)
}

func (s *halted) Batch(
	ctx context.Context,
	_ search.Caller,
	rs []search.Request,
	deliver func(search.Answer) error,
) error {
	if err := s.wait(ctx); err != nil {
		for range rs {
			if err := deliver(search.Answer{Err: &fault.Error{Kind: fault.Deadline, Code: "deadline", Err: err}}); err != nil {
				return err
			}
		}
		return nil
	}
	return s.Engine.Batch(ctx, search.Caller{}, rs, deliver)
}

func (s *halted) Embed(
	ctx context.Context,
	_ search.Caller,
	r lookup.EmbedRequest,
) (out lookup.EmbedResponse, err error) {
	if err := s.wait(ctx); err != nil {
		return out, err
	}
	return s.Engine.Embed(ctx, search.Caller{}, r)
}

func (s *halted) Rerank(
	ctx context.Context,
	_ search.Caller,
	r lookup.RerankRequest,
) (out lookup.RerankResponse, err error) {
	return lookup.RerankResponse{Scores: make([]float32, len(r.Texts))}, s.wait(ctx)
}

func (s *halted) Passage(
	ctx context.Context,
	_ search.Caller,
	id string,
) (p corpus.Passage, version string, err error) {
	if err := s.wait(ctx); err != nil {
		return p, "", err
	}
	return s.Engine.Passage(ctx, search.Caller{}, id)
}

func (s *halted) List(
	ctx context.Context,
	_ search.Caller,
	after string,
	limit int,
) (all []corpus.Passage, next string, err error) {
	if err := s.wait(ctx); err != nil {
		return nil, "", err
	}
	return s.Engine.List(ctx, search.Caller{}, after, limit)
}

// haltedWriter is the same for writing.
type haltedWriter struct{ *halted }

func (s haltedWriter) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	out := make([]store.ChangeResult, len(changes))
	for i, c := range changes {
		out[i] = store.ChangeResult{ID: c.ID(), Outcome: store.Created, Version: "v"}
	}
	return out, s.wait(ctx)
}

func (s haltedWriter) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	return s.Apply(ctx, changes)
}

func (s haltedWriter) Passage(
	ctx context.Context,
	id string,
	room func(int) error,
) (p corpus.Passage, version string, ok bool, err error) {
	if err := s.wait(ctx); err != nil {
		return p, "", false, err
	}
	if document, number, ok := strings.Cut(id, "#"); ok {
		metadata := map[string]any{corpus.DocumentKey: document}
		p = corpus.Passage{ID: id, Text: strings.Repeat("bees ", 4000), Metadata: metadata}
		return p, "v", number == "1", room(len(p.Text))
	}
	p, version, err = s.halted.Engine.Passage(ctx, search.Caller{}, id)
	if err == nil {
		err = room(len(p.Text))
	}
	return p, version, err == nil, err
}

func (s haltedWriter) Wait(ctx context.Context, _ uint64) error { return s.wait(ctx) }

func (haltedWriter) Backlog() (b store.Backlog) { return b }

type haltedJobs struct{ *halted }

func (s haltedJobs) Submit(ctx context.Context, r jobs.Request) (jobs.Job, error) {
	return jobs.Job{ID: "1", Request: r, State: jobs.Queued}, s.wait(ctx)
}

func (s haltedJobs) Job(ctx context.Context, id string) (jobs.Job, bool, error) {
	return jobs.Job{ID: id, State: jobs.Queued}, true, s.wait(ctx)
}

func (s haltedJobs) Jobs(ctx context.Context) ([]jobs.Job, error) { return []jobs.Job{}, s.wait(ctx) }

func (s haltedJobs) Cancel(ctx context.Context, id string) (jobs.Job, error) {
	return jobs.Job{ID: id, State: jobs.Cancelled}, s.wait(ctx)
}

type emptySnapshots struct{}

func (emptySnapshots) List() ([]SnapshotInfo, error) { return []SnapshotInfo{}, nil }
func (emptySnapshots) Remove(string) error           { return nil }
