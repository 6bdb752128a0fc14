package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/overload"
	"example.org/conclave/internal/stores"

	"golang.org/x/sync/errgroup"
)

// registry is the collections of a data folder. One is opened when it is asked for, and closed
// when it was not used for long, or when another one is to be opened and too many are. Its methods
// may be called by several goroutines.
type registry struct {
	config   configs.Config
	log      *slog.Logger
	observer handlers.Observer
	control  *overload.Control
	readsPDF documents.Worker
	pool     *experts.Pool
	opening  chan struct{} // so many are opened at a time
	// Set when it starts:
	folder    *collections.Folder
	readiness *handlers.Readiness
	running   context.Context

	mu     sync.Mutex
	held   map[string]*held
	failed map[string]failure
}

// held is a collection that is open, being opened or being closed.
type held struct {
	ready chan struct{} // closed when it is open, or could not be opened
	c     *collection   // then; nil: it could not be opened
	err   error         // why
	users int           // requests that it answers
	used  time.Time     // when the last one ended
	gone  chan struct{} // closed when it is closed; nil: nobody closes it
}

// failure is why a collection could not be opened, and when it was tried.
type failure struct {
	err error
	at  time.Time
}

const (
	// openAtOnce is how many collections are opened at a time: each reads a lot.
	openAtOnce = 2
	// tryOpening is for how long a collection that could not be opened is not tried again.
	tryOpening = 5 * time.Second
	// drainWithin is how long the removal of a collection waits for the requests that it answers.
	drainWithin = 10 * time.Second
)

func newRegistry(o ServerOptions, observer handlers.Observer, control *overload.Control) (*registry, error) {
	pool, err := experts.NewPool(o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	return &registry{
		config: o.Config, log: o.Log, observer: observer, control: control, readsPDF: o.ReadsPDF, pool: pool,
		opening: make(chan struct{}, openAtOnce), held: map[string]*held{}, failed: map[string]failure{},
	}, nil
}

// start opens the data folder and says which collections are damaged. Of those only that is read
// which tells.
func (r *registry) start(ctx context.Context, readiness *handlers.Readiness) (err error) {
	r.running, r.readiness = ctx, readiness
	r.folder, err = collections.OpenFolder(disk.OS{}, r.config.Data, !r.config.ReadOnly)
	if err != nil {
		return err
	}
	names, err := r.folder.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := r.examine(ctx, name); err != nil {
			r.tellFailed(name, err)
		}
	}
	r.log.Info("ready", "data", r.config.Data, "collections", len(names), "damaged", len(r.failed))
	return nil
}

// examine returns an error where a collection certainly cannot be opened.
func (r *registry) examine(ctx context.Context, name string) error {
	config, _, err := r.configOf(name)
	if err != nil {
		return err
	}
	at, err := stores.At(config)
	if err != nil {
		return err
	}
	stored, err := at.Experts(ctx)
	if err == nil && stored == nil {
		return fmt.Errorf("%s is no whole collection: its first indexing goes on, or was interrupted", config.Collection)
	}
	return err
}

// tellFailed notes why a collection cannot be used.
func (r *registry) tellFailed(name string, err error) {
	r.log.Error("a collection cannot be used", "collection", name, "cause", err)
	r.mu.Lock()
	r.failed[name] = failure{err, time.Now()}
	r.mu.Unlock()
	r.readiness.Set(handlers.Component{
		Name: "collection " + name, Status: handlers.Ready, Warnings: []string{"cannot be used: " + err.Error()},
	})
}

// tellWorks notes that a collection can be used, or is gone.
func (r *registry) tellWorks(name string) {
	r.mu.Lock()
	delete(r.failed, name)
	r.mu.Unlock()
	r.readiness.Remove("collection " + name)
}

// configOf returns the configuration by which a collection is served: with its own folders, and with
// what its settings say.
func (r *registry) configOf(name string) (config configs.Config, s collections.Settings, err error) {
	config = r.config
	config.Collection = r.folder.Path(name)
	if config.Snapshots != "" {
		config.Snapshots = filepath.Join(config.Snapshots, name)
	} else {
		config.Snapshots = r.folder.Snapshots(name)
	}
	s, _, err = collections.Read(r.folder.Disk(), config.Collection)
	if s.Search.Fusion != "" {
		config.Search.Fusion = s.Search.Fusion
	}
	if s.Search.K != 0 {
		config.Search.K = s.Search.K
	}
	if s.Search.Candidates != 0 {
		config.Search.Candidates = s.Search.Candidates
	}
	return config, s, err
}

// open opens a collection and begins its goroutines.
func (r *registry) open(name string) (c *collection, err error) {
	r.opening <- struct{}{}
	defer func() { <-r.opening }()
	began := time.Now()
	config, settings, err := r.configOf(name)
	if err != nil {
		return nil, err
	}
	log := r.log.With("collection", name)
	c = newCollection(config, log, handlers.NewCollection(name, nil), r.readsPDF)
	c.quotas = settings.Quotas
	c.api.Pace(settings.Quotas.RequestsASecond)
	running, stop := context.WithCancel(r.running)
	c.stop = stop
	c.group, c.running = errgroup.WithContext(running)
	queue, err := c.load(
		assembly.Options{Config: config, Log: log, Observer: r.observer, Experts: r.pool},
		r.control,
	)
	if err != nil {
		stop()
		return nil, errors.Join(err, c.release())
	}
	c.announce()
	c.run(queue)
	log.Info("opened", "took", time.Since(began).Round(time.Millisecond).String())
	return c, nil
}

// Use implements handlers.Collections.
func (r *registry) Use(ctx context.Context, name string) (k *handlers.Collection, done func(), err error) {
	h, err := r.take(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return h.c.api, func() { r.giveBack(h) }, nil
}

// take returns a collection that is open, for a user.
func (r *registry) take(ctx context.Context, name string) (*held, error) {
	for {
		h, first, err := r.find(name)
		if err != nil {
			return nil, err
		}
		if first {
			return h, r.openFor(h, name)
		}
		wait := h.ready
		if h.gone != nil {
			wait = h.gone
		}
		select {
		case <-wait:
		case <-ctx.Done():
			r.giveBack(h)
			return nil, ctx.Err()
		}
		if h.c != nil {
			return h, nil
		}
		r.giveBack(h)
		if h.err != nil {
			return nil, damagedError(name, h.err)
		}
	}
}

// find returns a collection with one user more; first says that this one is to open it.
func (r *registry) find(name string) (h *held, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.held[name]; h != nil {
		if h.gone == nil {
			h.users++
			return h, false, nil
		}
		return &held{ready: h.ready, gone: h.gone, users: 1}, false, nil // to wait for
	}
	if r.folder == nil {
		return nil, false, &collections.Error{Code: "not_ready", Detail: "the folder of collections is still being opened"}
	}
	has, err := r.folder.Has(name)
	switch {
	case err != nil:
		return nil, false, err
	case !has:
		return nil, false, collections.UnknownError(name)
	}
	if f, ok := r.failed[name]; ok && time.Since(f.at) < tryOpening {
		return nil, false, damagedError(name, f.err)
	}
	h = &held{ready: make(chan struct{}), users: 1}
	r.held[name] = h
	return h, true, nil
}

func damagedError(name string, err error) error {
	return &collections.Error{
		Code: collections.Damaged, Cause: err,
		Detail: fmt.Sprintf("the collection %q cannot be opened: %s", name, handlers.WithoutPaths(err.Error())),
	}
}

// openFor opens what find said is to be opened.
func (r *registry) openFor(h *held, name string) error {
	r.makeRoom()
	c, err := r.open(name)
	if err != nil {
		r.tellFailed(name, err)
	} else {
		r.tellWorks(name)
	}
	r.mu.Lock()
	h.c, h.err = c, err
	if err != nil {
		delete(r.held, name)
	}
	close(h.ready)
	r.mu.Unlock()
	if err != nil {
		return damagedError(name, err)
	}
	return nil
}

func (r *registry) giveBack(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.users--
	h.used = time.Now()
}
