// Package server serves a collection over HTTP: it joins the handlers with what is assembled, and runs
// the jobs and the watches beside them.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/guide"
	"example.org/conclave/internal/overload"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
)

// ServerOptions say which collections Open serves, and how.
type ServerOptions struct {
	Config  configs.Config
	Name    string // of the one collection, in requests that name it; "": the name of its folder
	Log     *slog.Logger
	Version string       // of the program, for /metrics
	Tracer  trace.Tracer // of requests and their stages; nil: none
	// Readers are the processes that read files. Close does not close them. Nil: this process reads files, and PDF
	// is refused.
	Readers *documents.Pool
	// Watch are files, folders and sites that the documents of the one collection are kept equal to.
	Watch []string
}

// Server serves one collection over HTTP, or all collections of a folder or store, and writes to them unless the
// configuration says read only. Its group owns its goroutines: one answers requests, and others belong to the
// collection, or close collections that are not used and watch the store.
type Server struct {
	*collection // nil where it serves several
	config      configs.Config
	log         *slog.Logger
	api         *handlers.API
	address     net.Addr
	several     *registry // nil where it serves one
	guide       *guide.Guide

	running context.Context // done when the server is to end
	stop    context.CancelFunc
	group   *errgroup.Group
}

// Open listens at once, so that health checks are answered, then opens the collection or the catalogue of
// collections, and returns when questions are answered. The server ends when ctx ends or one of its parts fails
// (Done); the caller then calls Close. Open fails if the options contradict each other, the address cannot be
// listened on, or the collection cannot be opened; everything is closed then.
func Open(ctx context.Context, o ServerOptions) (*Server, error) {
	started := time.Now()
	control, err := overload.New(o.Config.Limits.Concurrency, runtime.GOMAXPROCS(0), time.Now)
	if err != nil {
		return nil, err
	}
	if len(o.Watch) > 0 && o.Config.Several() {
		return nil, errors.New("documents follow their files in a server of one collection; this one has several")
	}
	if len(o.Watch) > 0 && o.Config.ReadOnly {
		return nil, errors.New("a server that only reads its collection cannot let documents follow their files")
	}
	metrics := handlers.NewMetrics()
	observer := handlers.Observer{Metrics: metrics, Logger: o.Log, Slow: o.Config.Log.Slow, Tracer: o.Tracer}
	s := &Server{config: o.Config, log: o.Log}
	if s.config.Several() {
		s.several, err = newRegistry(o, observer, control)
		if err == nil {
			err = metrics.ShowCollections(o.Config.Collections.Labels)
		}
		if err != nil {
			return nil, err
		}
	}
	s.guide = guide.New(guide.Options{
		Reading: DocumentOptions(s.config.Documents, nil), Limits: capacity.Limits(s.config.Limits),
		K: s.config.Search.K, Candidates: s.config.Search.Candidates, Turns: control,
	})
	s.api, err = newAPI(o, metrics, control, s.guide, s.several)
	if err != nil {
		return nil, err
	}
	serve, err := serveOptions(s.config)
	if err != nil {
		return nil, err
	}
	listener, err := s.api.Listen(ctx, s.config.Listen)
	if err != nil {
		return nil, err
	}
	s.address = listener.Addr()
	ctx, s.stop = context.WithCancel(ctx)
	s.group, s.running = errgroup.WithContext(ctx)
	s.group.Go(func() error { return s.api.Serve(s.running, listener, serve) })
	if s.several != nil {
		err = s.startSeveral(metrics, o.Version)
	} else {
		err = s.startOne(o, observer, control, metrics)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(s.config.Generators) > 0 {
		s.group.Go(func() error { experts.WarnOfGenerators(s.running, s.config, s.log); return nil })
	}
	s.log.Info("serving", "address", s.address.String(), "took", time.Since(started).Round(time.Millisecond).String())
	return s, nil
}

// startOne opens the collection of a server that has one, registers its metrics and starts its goroutines, one of
// which follows the folders o.Watch. It fails if the collection cannot be opened or a folder to follow cannot be read
// (checkRoots).
func (s *Server) startOne(
	o ServerOptions,
	observer handlers.Observer,
	control *overload.Control,
	metrics *handlers.Metrics,
) error {
	folders, starts, err := splitWatch(o.Watch)
	if err != nil {
		return err
	}
	c := newCollection(s.config, s.log, s.api.Collection, o.Readers)
	c.running, c.group = s.running, s.group
	c.version = o.Version
	s.collection = c
	s.api.Readiness().Set(schema.Component{Name: "collection", Status: handlers.Starting})
	queue, err := c.loadParts(assembly.Options{Config: s.config, Log: s.log, Observer: observer}, control)
	if err == nil && c.writer != nil {
		err = s.api.ShowWriting()
	}
	if err == nil {
		err = errors.Join(metrics.Register(encoderMetrics{c.searchedExperts}),
			metrics.Register(endpointMetrics{c.searchedExperts}),
			metrics.RegisterOfCollection(recallMetric{c.assembly.Engine.Experts}),
			registerPassages(metrics, c.assembly), registerProgram(metrics, o.Version))
	}
	if err == nil {
		err = c.checkRoots(s.running, folders)
	}
	if err != nil {
		return err
	}
	c.follows = folders
	c.showAndAttach()
	generation, passages := c.assembly.Engine.Generation() // before anything changes them
	if len(folders) > 0 {
		s.group.Go(func() error { return c.watchFolders(folders) })
	}
	if len(starts) > 0 {
		s.group.Go(func() error { return c.watchSites(starts) })
	}
	c.startGoroutines(queue)
	s.group.Go(c.verifyAhead)
	s.log.Info("ready", "collection", s.config.Passages(), "generation", generation,
		"passages", passages, "experts", len(c.assembly.Experts.Searched))
	return nil
}

// startSeveral opens the catalogue of a server of several collections, registers metrics and starts its goroutines.
// Each collection is opened by its first request. It fails if the catalogue cannot be read.
func (s *Server) startSeveral(metrics *handlers.Metrics, version string) error {
	exchanged, err := observeStore(metrics)
	if err != nil {
		return err
	}
	s.several.exchanged = exchanged
	err = errors.Join(s.several.openCatalogue(s.running, s.api.Readiness()), registerProgram(metrics, version),
		metrics.Register(encoderMetrics{s.several.pool.Encoders}),
		metrics.Register(endpointMetrics{s.several.pool.Remote}), metrics.Register(registryMetric{s.several}),
		metrics.Register(openMetric{s.several}))
	if err != nil {
		return err
	}
	s.group.Go(func() error { s.several.closeUnused(s.running); return nil })
	s.group.Go(func() error { s.several.watchStore(s.running); return nil })
	s.api.MarkStarted()
	return nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.address }

// Done returns a channel that is closed when the server has to end: its context is done, one of its parts has failed,
// or Close was called. Call Close then.
func (s *Server) Done() <-chan struct{} { return s.running.Done() }

// Close lets requests end, stops all goroutines, and closes the collections. It returns the failure that ended the
// server, if there was one, and those of closing.
func (s *Server) Close() error {
	s.stop()
	err := s.group.Wait() // requests and jobs end before what they use
	err = errors.Join(err, s.guide.Close())
	if s.collection != nil {
		err = errors.Join(err, s.collection.closeParts())
	}
	if s.several != nil {
		err = errors.Join(err, s.several.closeAll())
	}
	return err
}
