package opensearch

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/cluster"
)

// gatherFor is how long a search waits for those of the question's other sources, to be sent in one request with them.
// Their answers are needed at the same time anyhow; a slow encoder delays the search by words no longer than this.
const gatherFor = 100 * time.Millisecond

// gathering joins the first searches of a question's sources, which are asked at the same time.
type gathering struct {
	mu      sync.Mutex
	awaited int // sources that have not searched yet
	waiting []*sourceSearches
	sent    bool
	ready   chan struct{} // closed when nobody is awaited
}

// sourceSearches is what one source searches for.
type sourceSearches struct {
	searches []object
	done     chan struct{} // closed when the rest is there
	answers  []searchAnswer
	err      error
}

// Gather announces that n sources will search at the same time: their searches are sent in one request once all have
// arrived. Each source that ends without having searched has to call left. With n below 2 nothing is gathered.
func (r *request) Gather(n int) (left func()) {
	if n < 2 {
		return func() {}
	}
	g := &gathering{awaited: n, ready: make(chan struct{})}
	r.mu.Lock()
	r.gathering = g
	r.mu.Unlock()
	return g.countEnded
}

// countEnded notes that a source has ended. If the searches were not sent yet, the source did not search (one that did
// would still wait), so one source fewer is awaited.
func (g *gathering) countEnded() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.sent {
		g.countArrived()
	}
}

// countArrived notes that one source fewer is awaited, and closes ready after the last. The caller holds mu.
func (g *gathering) countArrived() {
	g.awaited--
	if g.awaited == 0 {
		close(g.ready)
	}
}

// addSearches adds the searches of a source to those that wait. ok is false if the others were sent already: then
// nothing was added.
func (g *gathering) addSearches(searches []object) (*sourceSearches, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent {
		return nil, false
	}
	j := &sourceSearches{searches: searches, done: make(chan struct{})}
	g.waiting = append(g.waiting, j)
	g.countArrived()
	return j, true
}

// takeSearches returns all waiting searches to the first caller, who has to send them. Later callers get nil.
func (g *gathering) takeSearches() []*sourceSearches {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent {
		return nil
	}
	g.sent = true
	return g.waiting
}

// searchTogether returns the answers to searches, in order. It sends them in one request with those of the question's
// other sources, if Gather announced these, and waits for them for Corpus.gather at most. A shard without a copy is
// no error (searchAnswer.lost).
func (r *request) searchTogether(ctx context.Context, searches []object) ([]searchAnswer, error) {
	r.mu.Lock()
	g := r.gathering
	r.mu.Unlock()
	if g == nil {
		return r.store.multiPartly(ctx, searches)
	}
	j, ok := g.addSearches(searches)
	if !ok {
		return r.store.multiPartly(ctx, searches)
	}
	err := turn.Elsewhere(ctx, func() error {
		late := time.NewTimer(r.corpus.gather)
		defer late.Stop()
		select {
		case <-g.ready:
		case <-late.C:
		case <-j.done:
		case <-ctx.Done():
		}
		if all := g.takeSearches(); all != nil {
			r.sendGathered(turn.WithoutTurn(ctx), all)
		}
		select {
		case <-j.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	if err != nil {
		return nil, err
	}
	return j.answers, j.err
}

// sendGathered sends the searches of several sources in one request and gives each its answers. If that answer is not
// whole it sends each source's searches alone, so that one that cannot be answered fails alone.
func (r *request) sendGathered(ctx context.Context, all []*sourceSearches) {
	var searches []object
	for _, j := range all {
		searches = append(searches, j.searches...)
	}
	answers, err := r.store.multiPartly(ctx, searches)
	var alone sync.WaitGroup
	for _, j := range all {
		if errors.Is(err, cluster.ErrAnswer) && len(all) > 1 {
			alone.Go(func() {
				defer close(j.done)
				j.answers, j.err = r.store.multiPartly(ctx, j.searches)
			})
			continue
		}
		j.err = err
		if err == nil {
			j.answers, answers = answers[:len(j.searches)], answers[len(j.searches):]
		}
		close(j.done)
	}
	alone.Wait()
}
