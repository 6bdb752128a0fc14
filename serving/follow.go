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

// following is what a library has that is served: an engine that follows its
// collection, to which this process writes, or another one.
type following struct {
	live     *collection.Live // nil where it is only read
	config   configs.Config
	log      *slog.Logger
	observer search.Observer

	// mu guards what follows, and the library's engine, what it is made of,
	// experts and warnings.
	mu      sync.Mutex
	silent  []*Expert     // of the collection, but not searched: they encode what comes in
	api     *handlers.API // nil until the engine is attached
	retired map[*search.Engine]chan struct{}
}

// attach gives the API the engine, and each one that takes its place.
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

// follow makes the engine say of the experts what is true of the newest
// generation. (Which generation is searched is up to the collection.)
func (l *Assembly) follow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.Collection.Acquire()
	defer g.Release()
	made := l.made
	made.Experts = slices.Clone(made.Experts)
	for _, files := range g.Experts() {
		at := slices.IndexFunc(made.Experts, func(x search.Expert) bool { return x.Name == files.Name })
		if at < 0 {
			continue // not searched, or about to be
		}
		info := &made.Experts[at].Info
		info.Passages, info.Recall = files.Passages, recallOf(files)
	}
	if err := l.replace(made); err != nil {
		l.log.Error("the experts' figures could not be brought up to date", "cause", err)
	}
}

// replace puts another engine in the place of the one there is. Requests under
// way keep theirs; it is closed behind them. Called with mu held.
func (l *Assembly) replace(made search.Config) error {
	engine, err := search.NewEngine(made)
	if err != nil {
		return err
	}
	before := l.Engine
	l.Engine, l.made = engine, made
	var idle <-chan struct{}
	if l.api != nil {
		idle = l.api.Attach(engine)
	}
	closed := make(chan struct{})
	l.retired[before] = closed
	go func() {
		defer close(closed)
		if idle != nil {
			<-idle
		}
		if err := before.Close(context.Background()); err != nil {
			l.log.Error("closing an engine", "cause", err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.retired, before)
	}()
	return nil
}

// settled waits until every engine that another one took the place of is
// closed.
func (l *Assembly) settled(ctx context.Context) error {
	l.mu.Lock()
	var waiting []chan struct{}
	for _, closed := range l.retired {
		waiting = append(waiting, closed)
	}
	l.mu.Unlock()
	for _, closed := range waiting {
		select {
		case <-closed:
		case <-ctx.Done():
			return fmt.Errorf("searches are still running: %w", ctx.Err())
		}
	}
	return nil
}
