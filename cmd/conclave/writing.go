package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"syscall"

	"conclave/collection"
	"conclave/configs"
	"conclave/handlers"
	"conclave/search"
)

// writing is what a library has that also writes: the live collection, and an
// engine that follows it.
type writing struct {
	live     *collection.Live
	config   configs.Config
	log      *slog.Logger
	observer search.Observer
	silent   []*expert // of the collection, but not searched: they encode what comes in

	mu      sync.Mutex // guards what follows, and the library's engine, experts and warnings
	made    search.Config
	api     *handlers.API // nil until the engine is attached
	retired map[*search.Engine]chan struct{}
}

// openServed opens the configured collection for a server: for reading and
// writing, unless it is to be read alone.
func openServed(config configs.Config, log *slog.Logger, observer search.Observer) (*library, error) {
	if config.ReadOnly {
		return openLibrary(config, log, observer)
	}
	l, err := openLibrary(config, log, observer)
	if err != nil {
		return l, err
	}
	return l, l.openWriting(config, log, observer)
}

// openWriting takes the collection's lock and replaces the reading by a live
// collection.
func (l *library) openWriting(config configs.Config, log *slog.Logger, observer search.Observer) error {
	w := &writing{config: config, log: log, observer: observer, retired: map[*search.Engine]chan struct{}{}}
	encoders, err := w.openSilent(l)
	if err == nil {
		o := liveOptions(config, encoders)
		o.Failed = func(err error) { log.Error("indexing what was written failed, and is tried again", "cause", err) }
		opened := make(chan struct{})
		defer close(opened)
		o.Published = func(uint64) {
			<-opened // until there is an engine that could follow
			l.follow()
		}
		w.live, err = collection.OpenLive(config.Collection, o)
	}
	if err != nil {
		for _, e := range w.silent {
			err = errors.Join(err, e.encoder.Close())
		}
		return explainWriting(config.Collection, err)
	}
	before := l.collection
	l.writing, l.collection = w, w.live.Collection()
	g := l.collection.Acquire()
	defer g.Release()
	if w.made, err = l.configure(g, config, log, observer); err != nil {
		return errors.Join(err, before.Close())
	}
	reading := l.engine
	if l.engine, err = search.NewEngine(w.made); err != nil {
		return errors.Join(err, before.Close())
	}
	// Nobody has asked the engine that read.
	return errors.Join(reading.Close(context.Background()), before.Close())
}

// openSilent opens the experts of the collection that are not searched: new
// passages need vectors of every expert. It returns all encoders.
func (w *writing) openSilent(l *library) ([]collection.PassageEncoder, error) {
	g := l.collection.Acquire()
	defer g.Release()
	var encoders []collection.PassageEncoder
	for _, e := range l.experts.opened {
		encoders = append(encoders, e)
	}
	for _, x := range g.Experts() {
		if slices.ContainsFunc(l.experts.opened, func(e *expert) bool { return e.name == x.Name }) {
			continue
		}
		e, err := l.open(w.config, w.log, x.Name)
		if err != nil {
			return nil, fmt.Errorf("the collection has vectors of expert %s, which new passages need too: %w", x.Name, err)
		}
		w.silent = append(w.silent, e)
		encoders = append(encoders, e)
		w.log.Warn("expert of the collection is not searched, since experts in the configuration does not name it; what is written is encoded for it all the same", "expert", x.Name)
	}
	return encoders, nil
}

// open loads one more expert.
func (l *library) open(config configs.Config, log *slog.Logger, name string) (*expert, error) {
	if l.experts.runtime != nil {
		return l.experts.open(name)
	}
	// A collection of words alone has loaded no runtime yet.
	first, err := openExperts(config, log, []string{name})
	if err != nil {
		return nil, err
	}
	e := first.opened[0]
	first.opened = l.experts.opened
	l.experts = first
	return e, nil
}

// liveOptions say how what is written becomes visible.
func liveOptions(config configs.Config, encoders []collection.PassageEncoder) collection.LiveOptions {
	in := config.Ingest
	return collection.LiveOptions{
		Build:      collection.BuildOptions{Experts: encoders, Threads: in.Threads},
		FlushAfter: in.FlushAfter, FlushPassages: in.FlushPassages, MaxPending: in.Backlog,
		Merge: collection.MergePolicy{Threads: in.Threads},
	}
}

func writeLimitsOf(l configs.Limits) handlers.WriteLimits {
	return handlers.WriteLimits{
		UploadBytes: int64(l.UploadBytes), Uploads: l.Uploads, LineBytes: int(l.LineBytes), PassageBytes: int(l.PassageBytes),
		Tags: l.Tags, MetadataBytes: int(l.MetadataBytes), AnswerBytes: int64(l.AnswerBytes),
	}
}

// explainWriting adds what can be done when a collection cannot be written to.
func explainWriting(folder string, err error) error {
	if errors.Is(err, collection.ErrLocked) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w; to search %s without writing to it, use --read-only", err, folder)
	}
	return err
}

// attach gives the API the engine, and each one that takes its place.
func (l *library) attach(api *handlers.API) {
	if l.writing == nil {
		api.Attach(l.engine)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.api = api
	api.Attach(l.engine)
}

// loaded are the experts that are searched.
func (l *library) loaded() []*expert {
	if l.writing != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
	}
	return slices.Clone(l.experts.opened)
}

// follow makes the engine say of the experts what is true of the newest
// generation. (Which generation is searched is up to the collection.)
func (l *library) follow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.collection.Acquire()
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
func (l *library) replace(made search.Config) error {
	engine, err := search.NewEngine(made)
	if err != nil {
		return err
	}
	before := l.engine
	l.engine, l.made = engine, made
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
func (l *library) settled(ctx context.Context) error {
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

// closeWriting ends the writing, while the encoders that it uses are open.
func (l *library) closeWriting() error {
	errs := []error{l.live.Close(), l.settled(context.Background())}
	for _, e := range l.silent {
		errs = append(errs, e.encoder.Close())
	}
	l.collection = nil // closed with the live one
	return errors.Join(errs...)
}
