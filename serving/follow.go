package serving

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"conclave/collection"
	"conclave/configs"
	"conclave/handlers"
	"conclave/search"
)

// following is what a library has that is served, of a collection to which this
// process writes, or another one.
type following struct {
	live   *collection.Live // nil where it is only read
	config configs.Config
	log    *slog.Logger

	// mu guards what follows, and the library's line-up, experts and warnings.
	mu      sync.Mutex
	silent  []*Expert       // of the collection, but not searched: they encode what comes in
	api     *handlers.API   // nil until the engine is attached
	drained <-chan struct{} // closed when no earlier line-up is in use; nil: there was none
}

// attach gives the API the engine.
func (l *Assembly) attach(api *handlers.API) {
	if l.following == nil {
		api.Attach(l.Engine)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.api = api
	api.Attach(l.Engine)
}

// loaded are the experts that are searched.
func (l *Assembly) loaded() []*Expert {
	if l.following != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
	}
	return slices.Clone(l.Experts.opened)
}

// replace puts another line-up in the place of the engine's. Called with mu held.
func (l *Assembly) replace(made search.LineUp) error {
	drained, err := l.Engine.Use(made)
	if err != nil {
		return err
	}
	l.made, l.drained = made, drained
	return nil
}

// settled waits until no search uses a line-up that another one took the place of.
func (l *Assembly) settled(ctx context.Context) error {
	l.mu.Lock()
	drained := l.drained
	l.mu.Unlock()
	if drained == nil { // there was one only
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("searches are still running: %w", ctx.Err())
	}
}
