package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/overload"
	"example.org/conclave/internal/stores"
	"example.org/conclave/store"

	"golang.org/x/sync/errgroup"
)

// registry is the set of collections of a data folder or of a cluster. A collection is opened by its first request. It
// is closed when it was not used for long, or when too many are open and another is needed. It is safe for concurrent
// use.
type registry struct {
	config     configs.Config
	log        *slog.Logger
	observer   handlers.Observer
	control    *overload.Control
	readers    *documents.Pool
	version    string // of the program
	pool       *experts.Pool
	unions     *unions
	openWithin time.Duration        // how long a request waits for its collection to be opened
	opens      sync.WaitGroup       // collections being opened
	opening    chan struct{}        // semaphore of openAtOnce: has an element for each collection being opened
	exchanged  func(store.Exchange) // called after each request to a cluster; may be nil
	// Set when it starts:
	catalogue stores.Catalogue
	readiness *handlers.Readiness
	running   context.Context

	mu     sync.Mutex
	held   map[string]*registryEntry // collections that are not closed, by name
	failed map[string]failure        // collections that could not be opened, by name
}

// registryEntry is a collection that is open, being opened or being closed.
type registryEntry struct {
	ready chan struct{} // closed when it is open, or could not be opened
	c     *collection   // the open collection, once ready is closed; nil: it could not be opened
	err   error         // why it could not be opened
	users int           // requests that use it
	used  time.Time     // when the last of them ended
	gone  chan struct{} // closed when the collection has been closed; nil: it is not being closed
}

// failure is the error with which a collection could not be opened, and the time of the attempt.
type failure struct {
	err error
	at  time.Time
}

const (
	// openAtOnce is the number of collections that may be opened at a time: each reads much from disk.
	openAtOnce = 2
	// tryOpening is how long a collection that could not be opened is not tried again.
	tryOpening = 5 * time.Second
	// drainWithin is how long the removal of a collection waits for its requests to end.
	drainWithin = 10 * time.Second
	// openWithin is how long a request waits for its collection to be opened, or as long as the limit of all requests
	// (limits.timeout), if that is less.
	openWithin = 10 * time.Second
)

// newRegistry returns a registry that is not started yet. It fails if the pool of experts cannot be made.
func newRegistry(o ServerOptions, observer handlers.Observer, control *overload.Control) (*registry, error) {
	pool, err := experts.NewPool(o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	return &registry{
		config: o.Config, log: o.Log, observer: observer, control: control, readers: o.Readers, version: o.Version,
		pool:       pool,
		openWithin: min(openWithin, o.Config.Limits.Timeout),
		unions:     newUnions(max(o.Config.Collections.Open, 1), o.Log),
		opening:    make(chan struct{}, openAtOnce), held: map[string]*registryEntry{}, failed: map[string]failure{},
	}, nil
}

// openCatalogue opens the catalogue of collections, from which on requests are answered, and reports damaged
// collections to the log and /readyz. It fails if the catalogue cannot be read. ctx has to end when the server does.
func (r *registry) openCatalogue(ctx context.Context, readiness *handlers.Readiness) (err error) {
	r.running, r.readiness = ctx, readiness
	catalogue, err := stores.OpenCatalogue(ctx, r.config)
	if err != nil {
		return err
	}
	if r.exchanged != nil {
		catalogue.Observe(r.exchanged)
	}
	all, err := catalogue.Examine(ctx)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Err != nil {
			r.tellFailed(l.Name, l.Err)
		}
	}
	r.mu.Lock()
	r.catalogue = catalogue
	damaged := len(r.failed)
	r.mu.Unlock()
	r.log.Info("ready", "data", cmp.Or(r.config.Data, r.config.Store), "collections", len(all), "damaged", damaged)
	return nil
}

// openedCatalogue returns the catalogue; until openCatalogue has opened it, an error with the code not_ready.
func (r *registry) openedCatalogue() (stores.Catalogue, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.catalogue == nil {
		return nil, &collections.Error{Code: "not_ready", Detail: "the collections are still being looked for"}
	}
	return r.catalogue, nil
}

// tellFailed logs why a collection cannot be used and shows it in /readyz. For tryOpening from now on, requests for
// the collection get err instead of another attempt.
func (r *registry) tellFailed(name string, err error) {
	r.log.Error("a collection cannot be used", "collection", name, "cause", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[name] = failure{err, time.Now()}
	if r.hidesNames() {
		r.countFailed()
		return
	}
	r.readiness.Set(schema.Component{
		Name: "collection " + name, Status: handlers.Ready, Warnings: []string{"cannot be used: " + err.Error()},
	})
}

// hidesNames reports whether some key is limited to named collections. Then /readyz, which needs no key, names no
// collection.
func (r *registry) hidesNames() bool {
	return slices.ContainsFunc(r.config.Auth.Keys, func(k configs.Key) bool { return len(k.Collections) > 0 })
}

// countFailed shows in /readyz how many collections cannot be used, without their names; nothing if there are none.
// r.mu must be held.
func (r *registry) countFailed() {
	if len(r.failed) == 0 {
		r.readiness.Remove("collections")
		return
	}
	r.readiness.Set(schema.Component{Name: "collections", Status: handlers.Ready, Warnings: []string{fmt.Sprintf(
		"%d cannot be used: the log names them, and GET /v1/collections those of a key", len(r.failed))}})
}

// tellWorks forgets a collection's failure and removes it from /readyz. Call it when the collection was opened, made or
// removed. It does nothing if there is no failure.
func (r *registry) tellWorks(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetFailure(name)
}

// forgetFailure removes a collection's failure and its warning in /readyz; it does nothing if there is none. r.mu
// must be held (tellWorks takes it).
func (r *registry) forgetFailure(name string) {
	if _, ok := r.failed[name]; ok {
		delete(r.failed, name)
		if r.hidesNames() {
			r.countFailed()
			return
		}
		r.readiness.Remove("collection " + name)
	}
}

// optionsOf returns the options to open a collection with: its location, the configuration with the search settings
// of s that are set, and a log that names the collection. It fails if no collection can have this name.
func (r *registry) optionsOf(name string, s collections.Settings) (o assembly.Options, err error) {
	config, at, err := r.catalogue.At(name)
	if s.Search.Fusion != "" {
		config.Search.Fusion = s.Search.Fusion
	}
	if s.Search.K != 0 {
		config.Search.K = s.Search.K
	}
	if s.Search.Candidates != 0 {
		config.Search.Candidates = s.Search.Candidates
	}
	log := r.log.With("collection", name)
	return assembly.Options{Config: config, At: at, Log: log, Observer: r.observer, Experts: r.pool}, err
}

// openCollection opens a collection and starts its goroutines. It waits while openAtOnce others are being opened. It
// fails if the collection was removed (collections.UnknownError), cannot be loaded, or the server ends. The caller
// closes the collection with endAndClose.
func (r *registry) openCollection(name string) (c *collection, err error) {
	select {
	case r.opening <- struct{}{}:
	case <-r.running.Done():
		return nil, r.running.Err()
	}
	defer func() { <-r.opening }()
	began := time.Now()
	found, err := r.catalogue.Find(r.running, name)
	if err != nil {
		return nil, err
	}
	if found == nil { // it was removed meanwhile
		return nil, collections.UnknownError(name)
	}
	if found.Err != nil {
		return nil, found.Err
	}
	o, err := r.optionsOf(name, found.Settings)
	if err != nil {
		return nil, err
	}
	c = newCollection(o.Config, o.Log, handlers.NewCollection(name, nil), r.readers)
	c.quotas = found.Settings.Quotas
	c.version = r.version
	c.api.Pace(c.quotas.RequestsASecond)
	running, stop := context.WithCancel(r.running)
	c.stop = stop
	c.group, c.running = errgroup.WithContext(running)
	queue, err := c.loadParts(o, r.control)
	if err != nil {
		stop()
		return nil, errors.Join(err, c.closeParts())
	}
	c.showAndAttach()
	c.startGoroutines(queue)
	o.Log.Info("opened", "took", time.Since(began).Round(time.Millisecond).String())
	return c, nil
}

// Use returns the collection of this name, which it opens if necessary. The collection stays open until done is
// called; call it if err is nil. The error is a *collections.Error if the collection is unknown or cannot be opened
// now, or ctx's.
func (r *registry) Use(ctx context.Context, name string) (k *handlers.Collection, done func(), err error) {
	h, err := r.takeCollection(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return h.c.api, func() { r.giveBack(h) }, nil
}

// takeCollection returns the open collection of this name with one more user; it has it opened if necessary. The
// caller calls giveBack after use. The error is a *collections.Error if the name is unknown, the collection is
// damaged, or opening takes longer than r.openWithin (code NotOpen), or ctx's; opening then goes on for later
// requests.
func (r *registry) takeCollection(ctx context.Context, name string) (*registryEntry, error) {
	late := time.NewTimer(r.openWithin)
	defer late.Stop()
	for {
		h, first, err := r.findOrAdd(ctx, name)
		if err != nil {
			return nil, err
		}
		if first {
			r.opens.Go(func() { r.openFor(h, name) })
		}
		wait := h.ready
		if h.gone != nil {
			wait = h.gone
		}
		select {
		case <-wait:
		case <-late.C:
			r.giveBack(h)
			return nil, &collections.Error{
				Code: collections.NotOpen, Detail: fmt.Sprintf("the collection %q is still being opened", name),
			}
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

// findOrAdd returns the entry of a collection with one more user: it may be open, being opened or being closed. first
// is true if the caller must open it (openFor). The error is a *collections.Error if the name is unknown or the
// collection failed less than tryOpening ago.
func (r *registry) findOrAdd(ctx context.Context, name string) (h *registryEntry, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.addUser(name); h != nil {
		return h, false, nil
	}
	r.mu.Unlock()
	catalogue, err := r.openedCatalogue()
	var found *stores.ListedCollection
	if err == nil {
		found, err = catalogue.Find(ctx, name)
	}
	r.mu.Lock()
	switch {
	case err != nil:
		return nil, false, damagedError(name, err)
	case found == nil:
		r.forgetFailure(name)
		return nil, false, collections.UnknownError(name)
	}
	if h := r.addUser(name); h != nil {
		return h, false, nil
	}
	if f, ok := r.failed[name]; ok && time.Since(f.at) < tryOpening {
		return nil, false, damagedError(name, f.err)
	}
	h = &registryEntry{ready: make(chan struct{}), users: 1}
	r.held[name] = h
	return h, true, nil
}

// addUser returns the entry of a collection in r.held with one more user; nil if there is none. If the collection is
// being closed, it returns a stand-in: wait for its channel gone and ask again. If the collection has no users and
// its store has lost it, addUser starts a goroutine that closes it. r.mu must be held.
func (r *registry) addUser(name string) *registryEntry {
	h := r.held[name]
	if h == nil {
		return nil
	}
	if h.gone == nil && h.c != nil && h.users == 0 && h.c.left.Load() {
		h.gone = make(chan struct{})
		go func() {
			if err := r.closeOne(name, h); err != nil {
				r.log.Error("closing a collection that is gone", "collection", name, "cause", err)
			}
		}()
	}
	if h.gone == nil {
		h.users++
		return h
	}
	return &registryEntry{ready: h.ready, gone: h.gone, users: 1}
}

// isUnavailable reports whether err is a *store.UnavailableError: the store of a collection does not answer now.
func isUnavailable(err error) bool { return errors.As(err, new(*store.UnavailableError)) }

// damagedError returns the *collections.Error in err if there is one, otherwise a new one with the code Unavailable
// if the store does not answer now, else Damaged. Its text names the collection and has no paths.
func damagedError(name string, err error) error {
	var known *collections.Error
	if errors.As(err, &known) {
		return known
	}
	if isUnavailable(err) {
		return &collections.Error{
			Code: collections.Unavailable, Cause: err,
			Detail: fmt.Sprintf("the collection %q cannot be asked now: %s", name, handlers.WithoutPaths(err.Error())),
		}
	}
	return &collections.Error{
		Code: collections.Damaged, Cause: err,
		Detail: fmt.Sprintf("the collection %q cannot be opened: %s", name, handlers.WithoutPaths(err.Error())),
	}
}

// openFor opens a collection that findOrAdd has added, after it has made room for it. It sets h.c, or h.err if it
// cannot be opened, and closes h.ready. A failure is logged, shown in /readyz, and removes h from r.held.
func (r *registry) openFor(h *registryEntry, name string) {
	r.makeRoom(name)
	c, err := r.openCollection(name)
	var unknown *collections.Error
	switch {
	case err == nil, errors.As(err, &unknown) && unknown.Code == collections.Unknown:
		r.tellWorks(name)
	case isUnavailable(err): // watch shows it in /readyz
		r.log.Warn("a collection cannot be opened now", "collection", name, "cause", err)
	default:
		r.tellFailed(name, err)
	}
	r.mu.Lock()
	h.c, h.err = c, err
	if err != nil {
		delete(r.held, name)
	}
	close(h.ready)
	r.mu.Unlock()
}

// giveBack ends one use of a collection that takeCollection returned, and notes the time for closeUnused.
func (r *registry) giveBack(h *registryEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.users--
	h.used = time.Now()
}
