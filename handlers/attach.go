package handlers

import (
	"net/http"
	"sync"
)

// attachment is an engine and the requests that use it.
type attachment struct {
	Engine

	mu      sync.Mutex
	users   int
	retired bool
	idle    chan struct{} // closed when it is retired and nobody uses it
}

// use counts a request in, unless another engine has taken this one's place.
func (t *attachment) use() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retired {
		return false
	}
	t.users++
	return true
}

func (t *attachment) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users--
	t.settle()
}

func (t *attachment) retire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retired = true
	t.settle()
}

// settle is called with mu held, once after retire and then by who leaves.
func (t *attachment) settle() {
	if t.retired && t.users == 0 {
		close(t.idle)
	}
}

// Attach gives the API its engine, or another one in its place, without a
// pause: requests under way keep the one that they have. The channel is closed
// when none of them uses the engine before this one any more, which then may be
// closed. Until the first one is attached, /startupz and everything that needs
// the engine answer 503.
func (a *API) Attach(e Engine) (previousIdle <-chan struct{}) {
	before := a.engine.Swap(&attachment{Engine: e, idle: make(chan struct{})})
	if before == nil {
		idle := make(chan struct{})
		close(idle)
		return idle
	}
	before.retire()
	return before.idle
}

// loaded is the engine for a request, which keeps it to its end.
func (a *API) loaded(r *http.Request) (Engine, error) {
	x := exchangeOf(r.Context())
	for x.engine == nil {
		t := a.engine.Load()
		if t == nil {
			return nil, newProblem("not_ready", "The models and the index are still being loaded; /readyz tells how far they are.")
		}
		if t.use() {
			x.engine = t
		}
	}
	return x.engine, nil
}
