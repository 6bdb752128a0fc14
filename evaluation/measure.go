package evaluation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"conclave/search"
)

// Searcher answers questions; *search.Engine is one.
type Searcher interface {
	Search(ctx context.Context, request search.Request) (search.Response, error)
}

// Options say what to measure.
type Options struct {
	Methods    []string // fusion methods, all from one pass
	Experts    []string // each also measured alone
	Words      bool     // BM25 also measured alone
	Depth      int      // results of each ranking; 100 where 0
	Candidates int      // hits of each source; 0: the engine's default
	Timeout    time.Duration
	Progress   func(done, total int)
}

// Measure asks every question of the searcher and returns one run a method:
// the fusions from one pass, then each source alone. A question that fails
// fails the whole, since an average over what happened to work says nothing.
func Measure(ctx context.Context, searcher Searcher, questions []Question, o Options) ([]Run, error) {
	if len(questions) == 0 {
		return nil, errors.New("there are no questions to evaluate with")
	}
	plan := passes(o)
	var runs []Run
	for _, p := range plan {
		for _, name := range p.names {
			runs = append(runs, Run{Name: name, Answers: make([]Answer, len(questions))})
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex // guards done and the first error
	done := 0
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				if err := answer(ctx, searcher, questions[i], plan, runs, i); err != nil {
					cancel(fmt.Errorf("question %s: %w", questions[i].ID, err))
					continue
				}
				mu.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, len(questions))
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range questions {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return runs, nil
}

// pass is one search of each question; its names are those of the runs that
// come out of it.
type pass struct {
	names   []string
	request search.Request
}

func passes(o Options) []pass {
	depth := o.Depth
	if depth == 0 {
		depth = 100
	}
	base := search.Request{K: depth, Candidates: o.Candidates, TimeoutMS: int(o.Timeout.Milliseconds())}
	var out []pass
	if len(o.Methods) > 0 {
		r := base
		r.Fusion = search.Methods{Names: slices.Clone(o.Methods), Listed: true}
		out = append(out, pass{names: o.Methods, request: r})
	}
	yes, no := true, false
	alone := func(name string, experts []string, words *bool) {
		r := base
		r.Fusion = search.Methods{Names: []string{search.MethodSum}, Listed: true}
		r.Experts, r.BM25 = &experts, words
		out = append(out, pass{names: []string{name}, request: r})
	}
	for _, expert := range o.Experts {
		alone(expert+" alone", []string{expert}, &no)
	}
	if o.Words {
		alone("bm25 alone", []string{}, &yes)
	}
	return out
}

func answer(ctx context.Context, searcher Searcher, q Question, plan []pass, runs []Run, at int) error {
	run := 0
	for _, p := range plan {
		request := p.request
		request.Question = q.Text
		response, err := searcher.Search(ctx, request)
		if err != nil {
			return err
		}
		if len(response.Degraded) > 0 {
			return fmt.Errorf("source %s was left out: %s", response.Degraded[0].Source, response.Degraded[0].Reason)
		}
		if len(response.Rankings) != len(p.names) {
			return fmt.Errorf("%d rankings came back for %d methods", len(response.Rankings), len(p.names))
		}
		for _, ranking := range response.Rankings {
			runs[run].Answers[at] = Answer{Question: q, Confidence: ranking.Confidence, Results: ranking.Results}
			run++
		}
	}
	return nil
}
