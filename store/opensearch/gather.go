package opensearch

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/cluster"
)

// gatherFor is how long a search waits for those of the question's other sources, to be sent with them. They are
// wanted together, so waiting costs little, and an encoder that is slow keeps words no longer.
const gatherFor = 100 * time.Millisecond

// gathering joins the first searches of a question's sources, which are asked at the same time.
type gathering struct {
	mu      sync.Mutex
	awaited int // sources that have not searched yet
	waiting []*joined
	sent    bool
	ready   chan struct{} // closed when nobody is awaited
}

// joined is what one source searches for.
type joined struct {
	searches []object
	done     chan struct{} // closed when the rest is there
	answers  []said
	err      error
}

// Gather implements storage.SearchBatcher.
func (r *request) Gather(n int) (left func()) {
	if n < 2 {
		return func() {}
	}
	g := &gathering{awaited: n, ready: make(chan struct{})}
	r.mu.Lock()
	r.gathering = g
	r.mu.Unlock()
	return g.leave
}

// leave counts a source that has ended. While searches wait it is one that did not search, since it would wait too.
func (g *gathering) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.sent {
		g.arrive()
	}
}

// arrive counts a source that searches, or has ended without. mu is held.
func (g *gathering) arrive() {
	g.awaited--
	if g.awaited == 0 {
		close(g.ready)
	}
}

// join adds searches; false where the others were sent.
func (g *gathering) join(searches []object) (*joined, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent {
		return nil, false
	}
	j := &joined{searches: searches, done: make(chan struct{})}
	g.waiting = append(g.waiting, j)
	g.arrive()
	return j, true
}

// take returns what is to be sent, to the first that asks.
func (g *gathering) take() []*joined {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent {
		return nil
	}
	g.sent = true
	return g.waiting
}

// together asks searches beside those of the question's other sources, in one request. It does what
// multiPartly does.
func (r *request) together(ctx context.Context, searches []object) ([]said, error) {
	r.mu.Lock()
	g := r.gathering
	r.mu.Unlock()
	if g == nil {
		return r.store.multiPartly(ctx, searches)
	}
	j, ok := g.join(searches)
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
		if all := g.take(); all != nil {
			r.send(turn.WithoutTurn(ctx), all)
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

// send asks what several search for. Where the answer is not whole each is asked for by itself, so that one
// that cannot be answered fails alone.
func (r *request) send(ctx context.Context, all []*joined) {
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
