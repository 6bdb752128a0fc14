// Package server serves a collection over HTTP: it joins the handlers with what is assembled, and runs
// the jobs and the watches beside them.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/guide"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/overload"
	"example.org/conclave/store"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
)

// ServerOptions say what is served.
type ServerOptions struct {
	Config  configs.Config
	Name    string // of the collection, for those who name it; "": its folder's
	Log     *slog.Logger
	Version string       // of the program, for /metrics
	Tracer  trace.Tracer // of requests and their stages; nil: none
	// ReadsPDF starts the process that reads PDF; nil: PDF is refused.
	ReadsPDF documents.Worker
	// Watch are files and folders that the documents of the collection follow.
	Watch []string
}

// Server serves a collection over HTTP, and writes to it unless the configuration
// says that it only reads. One group owns its goroutines: the one that answers, the
// one that works through the jobs, the one that looks for what others changed, and
// the one that verifies ahead.
type Server struct {
	config   configs.Config
	log      *slog.Logger
	api      *handlers.API
	address  net.Addr
	assembly *assembly.Assembly
	writer   store.Writer // nil where the collection is only read
	keeper   *keeping.Keeper
	readsPDF documents.Worker
	guide    *guide.Guide

	running context.Context // done when the server is to end
	stop    context.CancelFunc
	group   *errgroup.Group

	// mu guards the assembly's experts, absent experts, calibration and line-up.
	mu sync.Mutex

	// Of the goroutine that watches the store:
	refused   map[string]string // experts that could not be taken in, with their vectors' fingerprints
	condition string            // that was told last
}

// Open listens at once, so that probes are answered, opens the collection, and
// returns when questions are answered. The server ends when ctx is done or one of its
// parts fails; Close says how that went, and is called in any case.
func Open(ctx context.Context, o ServerOptions) (*Server, error) {
	started := time.Now()
	control, err := overload.New(o.Config.Limits.Concurrency, runtime.GOMAXPROCS(0), time.Now)
	if err != nil {
		return nil, err
	}
	if len(o.Watch) > 0 && o.Config.ReadOnly {
		return nil, errors.New("a server that only reads its collection cannot let documents follow their files")
	}
	if err := watchable(o.Watch, DocumentOptions(o.Config.Documents, nil).Limits); err != nil {
		return nil, err
	}
	metrics := handlers.NewMetrics()
	s := &Server{config: o.Config, log: o.Log, readsPDF: o.ReadsPDF, refused: map[string]string{}}
	s.guide = guide.New(guide.Options{
		Reading: DocumentOptions(s.config.Documents, nil), Limits: capacity.Limits(s.config.Limits),
		K: s.config.Search.K, Candidates: s.config.Search.Candidates,
	})
	s.api, err = newAPI(o, metrics, control, s.guide)
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

	s.api.Readiness().Set(handlers.Component{Name: "collection", Status: handlers.Starting})
	queue, err := s.load(
		handlers.Observer{Metrics: metrics, Logger: s.log, Slow: s.config.Log.Slow, Tracer: o.Tracer},
		control,
	)
	if err == nil {
		err = s.announce(metrics, o.Version)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	generation, passages := s.assembly.Engine.Generation() // before anything changes them
	experts := len(s.assembly.Experts.Searched)
	if queue != nil {
		s.group.Go(func() error { queue.Run(s.running); return nil })
	}
	if len(o.Watch) > 0 {
		s.group.Go(func() error { return s.watchFolders(o.Watch) })
	}
	s.group.Go(func() error { s.assembly.Store.Watch(s.running, watcher{s}); return nil })
	s.group.Go(s.verifyAhead)
	s.log.Info("ready", "address", s.address.String(), "collection", s.config.Passages(), "generation", generation,
		"passages", passages, "experts", experts, "took", time.Since(started).Round(time.Millisecond).String())
	return s, nil
}

// worker works through jobs.
type worker interface{ Run(context.Context) }

// load opens the collection with its experts and the engine, and for writing the
// jobs.
func (s *Server) load(observer handlers.Observer, control *overload.Control) (queue worker, err error) {
	s.assembly = assembly.New(assembly.Options{Config: s.config, Log: s.log, Observer: observer})
	if err := s.assembly.Load(); err != nil {
		return nil, err
	}
	if !s.config.ReadOnly {
		if err := s.openWriter(s.running); err != nil {
			return nil, err
		}
	}
	if err := s.assembly.Start(control); err != nil {
		return nil, err
	}
	if s.writer != nil {
		// Before it is ready, so that who is ready is ready for writes too.
		queue, err = s.acceptWrites()
	}
	return queue, err
}

// announce states each component in /readyz, shows the counters of encoders and
// collection in /metrics, and lets questions in.
func (s *Server) announce(metrics *handlers.Metrics, version string) error {
	s.api.Readiness().Set(handlers.Component{Name: "collection", Status: handlers.Ready})
	for _, e := range s.assembly.Experts.Searched {
		s.tellExpert(e.Name())
	}
	for _, x := range s.assembly.Absent {
		s.api.Readiness().
			Set(handlers.Component{Name: "expert " + x.Name, Status: handlers.Ready, Warnings: []string{"is left out: its bundle cannot be used: " + x.Cause.Error()}})
	}
	s.tellCalibration()
	contents, done := s.assembly.Store.Contents()
	s.tellReads(contents.Reads())
	done()
	if err := errors.Join(metrics.Register(encoderMetrics{s.searched}),
		metrics.Register(recallMetric{s.assembly.Engine.Experts}),
		registerPassages(metrics, s.assembly, version)); err != nil {
		return err
	}
	s.api.Attach(s.assembly.Engine)
	return nil
}

// tellExpert states an expert that is searched in /readyz, with its warnings.
func (s *Server) tellExpert(name string) {
	info, err := s.assembly.Engine.Expert(name)
	if err != nil {
		return // it left
	}
	s.api.Readiness().Set(handlers.Component{Name: "expert " + name, Status: handlers.Ready, Warnings: info.Warnings})
}

// tellCalibration states in /readyz that the collection's calibration is not used.
func (s *Server) tellCalibration() {
	const name = "calibration"
	if refused := s.assembly.Refused(); refused != "" {
		s.api.Readiness().Set(handlers.Component{Name: name, Status: handlers.Ready, Warnings: []string{refused}})
		return
	}
	s.api.Readiness().Remove(name)
}

// Addr returns where the server listens.
func (s *Server) Addr() net.Addr { return s.address }

// Done returns a channel that is closed when the server is to end: its context is
// done, or one of its parts has failed.
func (s *Server) Done() <-chan struct{} { return s.running.Done() }

// Close drains requests, ends what runs, and closes what was opened. It says what
// ended the server, if that was a failure.
func (s *Server) Close() error {
	s.stop()
	err := s.group.Wait() // requests and jobs end before what they use
	if s.keeper != nil {
		err = errors.Join(err, s.keeper.Close())
	}
	err = errors.Join(err, s.guide.Close())
	if s.assembly != nil {
		err = errors.Join(err, s.assembly.Close())
	}
	return err
}

// verifyAhead compares the checksums of vectors and graphs, so that it is not the
// first questions that wait for their files to be read. What is damaged is logged and
// stated in /readyz; searches of that expert fail and name the file, the others
// answer.
func (s *Server) verifyAhead() error {
	contents, done := s.assembly.Store.Contents()
	defer done()
	started := time.Now()
	err := contents.VerifyVectors(s.running)
	switch {
	case err == nil:
		s.log.Debug(
			"vectors and graphs are as they were written",
			"took",
			time.Since(started).Round(time.Millisecond).String(),
		)
	case s.running.Err() != nil:
	default:
		s.log.Error("vectors are damaged: their experts cannot be searched", "cause", err)
		s.api.Readiness().Set(handlers.Component{Name: "vectors", Status: handlers.Ready, Warnings: []string{err.Error()}})
	}
	return nil
}

// drained waits until no search uses a line-up before the present one.
func (s *Server) drained(ctx context.Context) error {
	s.mu.Lock()
	drained := s.assembly.Drained()
	s.mu.Unlock()
	if drained == nil {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("searches are still running: %w", ctx.Err())
	}
}
