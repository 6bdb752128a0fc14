package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"example.org/conclave/ann"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// openLive takes the collection's lock, and replaces the reading by a collection that
// is searched and written to.
func (s *Server) openLive() error {
	a, in := s.assembly, s.config.Ingest
	g := a.Collection.Acquire()
	stored := g.Experts()
	g.Release()
	live, err := folder.OpenLive(s.config.Collection, folder.LiveOptions{
		Build: store.BuildOptions{
			Experts: s.encoders(stored),
			Shared:  SharedPasses(a.Experts.opened),
			Threads: in.Threads,
		},
		FlushAfter: in.FlushAfter, FlushPassages: in.FlushPassages, MaxPending: in.Backlog,
		Merge:  folder.MergePolicy{Threads: in.Threads},
		Failed: func(err error) { s.log.Error("indexing what was written failed, and is tried again", "cause", err) },
	})
	switch {
	case errors.Is(err, folder.ErrLocked), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &WriteError{err}
	case err != nil:
		return err
	}
	s.live = live
	reading := a.close
	a.Collection = s.live.Collection()
	a.close = s.live.Close
	return reading()
}

// WriteError is the error of a server that may not write to its collection, or not
// while another process does. One that only reads could open it.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// encoders returns those of all stored experts, of which every passage needs
// vectors: those that are searched, those that the configuration does not name, which
// are loaded, and none in the place of those whose bundles cannot be used or that have
// no vectors of their own.
func (s *Server) encoders(stored []store.Expert) (encoders []store.PassageEncoder) {
	a := s.assembly
	for _, e := range a.Experts.opened {
		encoders = append(encoders, e)
	}
	for _, x := range stored {
		if a.Experts.named(x.Name) != nil {
			continue
		}
		if a.isAbsent(x.Name) || x.Owner != "" {
			encoders = append(encoders, noEncoder{x})
			continue
		}
		e, err := a.Experts.loadMore(x.Name)
		if err != nil {
			s.log.Error(
				"passages cannot be written: they need vectors of every expert of the collection",
				"expert",
				x.Name,
				"cause",
				err,
			)
			a.absent = append(a.absent, absentExpert{name: x.Name, cause: err, silent: true})
			encoders = append(encoders, noEncoder{x})
			continue
		}
		a.Experts.silent = append(a.Experts.silent, e)
		encoders = append(encoders, e)
		s.log.Warn(
			"expert of the collection is not searched, since experts in the configuration does not name it; what is written is encoded for it all the same",
			"expert",
			x.Name,
		)
	}
	return encoders
}

// noEncoder stands for the encoder of an expert whose bundle cannot be used, or is not
// needed. Passages that were acknowledged before it was damaged wait until it is mended.
type noEncoder struct{ files store.Expert }

func (n noEncoder) Name() string        { return n.files.Name }
func (n noEncoder) Dimension() int      { return n.files.Dimension }
func (n noEncoder) Fingerprint() string { return n.files.Fingerprint }

// Late says that the expert gives each token a vector.
func (n noEncoder) Late() bool { return n.files.Index.Kind == ann.Late }

// Parts cuts nothing: no vectors are made.
func (n noEncoder) Parts() func(text string) []rank.Span {
	if !n.files.Parts || n.files.Owner != "" {
		return nil
	}
	return func(string) []rank.Span { return nil }
}

// Owner returns the expert whose vectors these are.
func (n noEncoder) Owner() string { return n.files.Owner }

// EncodePassages returns an error.
func (n noEncoder) EncodePassages(context.Context, []corpus.Passage) ([][]float32, error) {
	return nil, fmt.Errorf("the bundle of expert %s cannot be used, so passages have no vectors of it", n.files.Name)
}

// acceptWrites lets passages be written and jobs be asked for.
func (s *Server) acceptWrites() (worker, error) {
	register, err := jobs.OpenFolder(disk.OS{}, s.jobsFolder(), s.log)
	if err != nil {
		return nil, err
	}
	queue := jobs.NewQueue(register, jobs.QueueOptions{Logger: s.log, Kinds: map[string]jobs.Handler{
		jobs.Snapshot:     {Check: s.checkSnapshot, Work: s.pathless(s.makeSnapshot)},
		jobs.AddExpert:    {Check: s.checkAdding, Work: s.pathless(s.addExpert)},
		jobs.RemoveExpert: {Check: s.checkRemoving, Work: s.pathless(s.removeExpert)},
		jobs.DeleteTagged: {Work: s.pathless(s.deleteTagged)},
		jobs.AddDocuments: {Work: s.pathless(s.addDocuments)},
	}})
	if damaged := register.Damaged(); len(damaged) > 0 {
		said := handlers.Component{Name: "jobs", Status: handlers.Ready}
		for _, path := range damaged {
			said.Warnings = append(
				said.Warnings,
				fmt.Sprintf(
					"the record %s is damaged and its job is not done: ask for it again, and remove the file",
					filepath.Base(path),
				),
			)
		}
		s.api.Readiness().Set(said)
	}
	s.tellWritable()
	s.keepDocuments(s.live, s.jobsFolder())
	known, err := queue.Jobs(s.running)
	if err == nil {
		err = removeUploads(s.jobsFolder(), known)
	}
	if err != nil {
		s.log.Warn("uploads of documents that no job reads could not be removed", "cause", err)
	}
	s.visible = s.live.Flush
	return queue, s.api.AttachWriter(s.live, queue, snapshotFolder{snapshotsOf(s.config)})
}

// pathless keeps paths of the machine out of the error of a job, which answers tell;
// the log has them.
func (s *Server) pathless(
	work func(context.Context, jobs.Task) (jobs.Result, error),
) func(context.Context, jobs.Task) (jobs.Result, error) {
	return func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
		result, err := work(ctx, t)
		if err != nil && ctx.Err() == nil {
			s.log.Error("a job failed", "job", t.ID, "kind", t.Kind, "name", t.Name, "cause", err)
			err = errors.New(handlers.WithoutPaths(err.Error()))
		}
		return result, err
	}
}

// tellWritable lets passages be written, or refuses them: a passage needs vectors of
// every expert of its collection that has its own. What needs none, such as deleting, is
// done.
func (s *Server) tellWritable() {
	needed := slices.DeleteFunc(
		slices.Clone(s.assembly.absent),
		func(x absentExpert) bool { return s.assembly.Experts.owners[x.name] != "" },
	)
	if len(needed) == 0 {
		s.api.RefusePassages("")
		return
	}
	why := "No passage can be written, since it needs vectors of every expert of the collection:"
	for _, x := range needed {
		why += fmt.Sprintf(" the bundle of expert %s cannot be used (%s).", x.name, handlers.WithoutPaths(x.cause.Error()))
	}
	s.api.RefusePassages(
		why + " Mend it and start the server again, or take the expert out (DELETE /v1/admin/experts/" + needed[0].name + "). Passages can be deleted all the same.",
	)
}
