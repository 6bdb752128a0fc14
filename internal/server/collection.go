package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/asked"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/judgments"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/originals"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
	"example.org/conclave/store"

	"golang.org/x/sync/errgroup"
)

// collection is a collection that is open to requests, with its search engine, writer and jobs. Its group owns its
// goroutines: one does the jobs, another watches the store for changes by other processes.
type collection struct {
	config   configs.Config
	log      *slog.Logger
	api      *handlers.Collection
	assembly *assembly.Assembly
	writer   store.Writer // nil where the collection is only read
	jobs     handlers.Jobs
	keeper   *keeping.Keeper
	// judgments are what people say of answers; nil: the store cannot keep them
	judgments *judgments.JudgmentFile
	// unanswered are the questions that searches did not answer; nil: none are kept
	unanswered *asked.Log
	answered   *asked.Log      // the questions that searches answered; nil: none are kept
	readers    *documents.Pool // processes that read files; nil: this process reads them
	quotas     collections.Quotas
	// originals has copies of uploaded files; nil: the collection is only read, or in a store, which keeps none
	originals *originals.Folder
	version   string   // of the program, which sites are told
	follows   []string // folders that the documents follow while this server runs

	left atomic.Bool // the store has removed the collection, or replaced it by another of its name

	running context.Context // done when the collection is to be closed
	stop    context.CancelFunc
	group   *errgroup.Group

	// mu guards the assembly's experts, absent experts, calibration and line-up.
	mu sync.Mutex

	configuring sync.Mutex // one change of the settings at a time

	// Of the goroutine that watches the store:
	refused   map[string]string // experts that could not be taken in, with their vectors' fingerprints
	condition string            // that was told last
}

// newCollection returns a collection that is not open yet (loadParts). readers may be nil.
func newCollection(
	config configs.Config,
	log *slog.Logger,
	api *handlers.Collection,
	readers *documents.Pool,
) *collection {
	return &collection{config: config, log: log, api: api, readers: readers, refused: map[string]string{}}
}

// worker is a queue of jobs. Run does them until its context ends.
type worker interface{ Run(context.Context) }

// loadParts opens the collection, its experts and the engine, and, unless the configuration is read only, the writer.
// It returns the queue of jobs for startGoroutines to run; nil if the collection is read only. After an error, call
// closeParts.
func (s *collection) loadParts(o assembly.Options, control *overload.Control) (queue worker, err error) {
	s.assembly = assembly.New(o)
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

// showAndAttach shows the collection, its experts and warnings in /readyz and attaches the engine to the API, so that
// requests are answered from now on.
func (s *collection) showAndAttach() {
	s.tellCollection()
	if s.config.ReadOnly && s.config.Unanswered.Keep > 0 {
		s.tellUnanswered(errors.New("the server only reads: unanswered.keep has no effect"))
	}
	if s.config.ReadOnly && s.config.Answered.Keep > 0 {
		s.tellAnswered(errors.New("the server only reads: answered.keep has no effect"))
	}
	for _, e := range s.assembly.Experts.Searched {
		s.tellExpert(e.Name())
	}
	for _, x := range s.assembly.Absent {
		s.api.Readiness().
			Set(schema.Component{Name: "expert " + x.Name, Status: handlers.Ready, Warnings: []string{"is left out: its bundle cannot be used: " + x.Cause.Error()}})
	}
	s.tellCalibration()
	contents, done := s.assembly.Store.Contents()
	s.tellReads(contents.Reads())
	done()
	s.api.AttachSettings(settings{s})
	s.attachOriginals()
	s.api.Attach(s.assembly.Engine)
}

// startGoroutines starts the collection's goroutines, which run until s.running is done: one works through the jobs of
// queue, unless that is nil, two write unanswered and answered questions, one removes unused copies of files, and one
// watches the store.
func (s *collection) startGoroutines(queue worker) {
	if queue != nil {
		s.group.Go(func() error { queue.Run(s.running); return nil })
	}
	if s.unanswered != nil {
		s.group.Go(func() error { s.unanswered.Run(s.running, s.tellUnanswered); return nil })
	}
	if s.answered != nil {
		s.group.Go(func() error { s.answered.Run(s.running, s.tellAnswered); return nil })
	}
	if s.originals != nil {
		s.group.Go(s.sweepOriginals)
	}
	s.group.Go(func() error { s.assembly.Store.Watch(s.running, watcher{s}); return nil })
}

// tellExpert shows a searched expert in /readyz, with its warnings. It does nothing if the expert was removed
// meanwhile.
func (s *collection) tellExpert(name string) {
	info, err := s.assembly.Engine.Expert(name)
	if err != nil {
		return // it left
	}
	s.api.Readiness().Set(schema.Component{Name: "expert " + name, Status: handlers.Ready, Warnings: info.Warnings})
}

// tellCollection shows the collection in /readyz, with the ranking methods that its experts do not allow and what to
// add for these.
func (s *collection) tellCollection() {
	lacking := search.LackingMethods(s.assembly.Engine.Experts())
	s.api.Readiness().Set(schema.Component{Name: "collection", Status: handlers.Ready, Detail: lacking})
}

// tellCalibration shows a warning in /readyz if the collection's calibration is not used, with the reason. If it is
// used, or there is none, it removes that warning.
func (s *collection) tellCalibration() {
	const name = "calibration"
	if refused := s.assembly.Refused(); refused != "" {
		s.api.Readiness().Set(schema.Component{Name: name, Status: handlers.Ready, Warnings: []string{refused}})
		return
	}
	s.api.Readiness().Remove(name)
}

// closeParts closes the collection's store and experts, as far as loadParts opened them. Call it when none of its
// goroutines and requests run any more. It returns their errors.
func (s *collection) closeParts() error {
	if s.assembly != nil {
		return s.assembly.Close()
	}
	return nil
}

// verifyAhead verifies the checksums of all vectors and graphs once, so that the first questions do not wait for it.
// Damage is logged and shown in /readyz: searches by a damaged expert fail, others work. It always returns nil, as a
// goroutine of the group must.
func (s *collection) verifyAhead() error {
	contents, done := s.assembly.Store.Contents()
	defer done()
	started := time.Now()
	err := contents.VerifyVectors(s.running)
	switch {
	case err == nil:
		s.log.Debug(
			"vectors and graphs are as they were written", "took", time.Since(started).Round(time.Millisecond).String(),
		)
	case s.running.Err() != nil:
	default:
		s.log.Error("vectors are damaged: their experts cannot be searched", "cause", err)
		s.api.Readiness().Set(schema.Component{Name: "vectors", Status: handlers.Ready, Warnings: []string{err.Error()}})
	}
	return nil
}

// awaitEarlierLineUps waits until no search uses an earlier set of experts than the present one. It fails if ctx ends
// first.
func (s *collection) awaitEarlierLineUps(ctx context.Context) error {
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
