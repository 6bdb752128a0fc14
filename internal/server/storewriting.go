package server

import (
	"context"
	"io"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/search"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
)

// writeStore lets passages be written to the store, and jobs be asked for. A change is
// acknowledged when the cluster has it with its vectors, and the cluster has the jobs, too,
// so nothing of either is kept here.
func (s *Server) writeStore() (worker, error) {
	stored := s.assembly.Store.Store()
	if err := stored.MayWrite(s.running); err != nil {
		return nil, &WriteError{err}
	}
	writer, err := opensearch.NewWriter(
		stored,
		s.encoders(expertsOf(stored.Manifest())),
		SharedPasses(s.assembly.Experts.opened),
	)
	if err != nil {
		return nil, err
	}
	elsewhere := func(what string) jobs.Handler {
		return jobs.Handler{Check: func(jobs.Request) error {
			return jobs.Refuse("no_such_path", "the passages are in a store: %s", what)
		}}
	}
	// An index made anew has jobs of its own.
	name := "jobs-" + stored.Manifest().ID
	queue := jobs.NewQueue(
		jobs.NewShared(stored.Register(name), stored.Register(name+"-working")),
		jobs.QueueOptions{Logger: s.log, Kinds: map[string]jobs.Handler{
			jobs.Snapshot: elsewhere("the cluster makes snapshots by its own means"),
			jobs.AddExpert: elsewhere(
				"every server in front of it needs the expert's bundle, so it is added and removed from outside, and the servers are started anew",
			),
			jobs.RemoveExpert: elsewhere("its servers have to be started anew without an expert, so it is removed from outside"),
			jobs.DeleteTagged: {
				Work: s.pathless(
					func(ctx context.Context, t jobs.Task) (jobs.Result, error) { return s.deleteStored(ctx, writer, t) },
				),
			},
		}},
	)
	s.tellWritable()
	s.keepDocuments(writer, "")
	s.visible = writer.Visible
	return queue, s.api.AttachWriter(writer, queue, noSnapshots{})
}

// deleteStored returns the work of deleting passages of a store by their tags.
func (s *Server) deleteStored(
	ctx context.Context,
	writer *opensearch.Writer,
	t jobs.Task,
) (result jobs.Result, err error) {
	if err := namesTags(t); err != nil {
		return result, err
	}
	if len(t.IDs) > 0 {
		deleted, err := deleteNamed(ctx, writer, t)
		if err == nil {
			err = writer.Visible(ctx)
		}
		if err != nil {
			return result, err
		}
		n, err := s.assembly.Store.Count(ctx)
		return jobs.Result{Passages: int(n.Passages), Deleted: &deleted}, err
	}
	const stage = "deleting"
	scan, err := s.assembly.Store.Store().ScanTagged(ctx, search.Filter{TagsAll: t.TagsAll, TagsAny: t.TagsAny})
	if err != nil {
		return result, err
	}
	defer func() { _ = scan.Close() }() // else it ends by itself
	deleted := 0
	total := int64(-1)
	var changes []store.Change
	apply := func() error {
		if total < 0 {
			_, left := scan.Progress()
			total = left
			if t.Progress != nil && t.Progress.Stage == stage { // of the attempt before
				total = max(total, t.Progress.Total)
			}
			deleted = int(total - left)
		}
		n, err := deletedNow(ctx, writer, changes)
		deleted += n
		changes = changes[:0]
		t.Report(jobs.Progress{Stage: stage, Done: int64(deleted), Total: total, Unit: "passages"})
		return err
	}
	for {
		p, err := scan.Next()
		if err != nil && err != io.EOF {
			return result, err
		}
		if err == io.EOF || len(changes) == deleteAtOnce {
			if err := apply(); err != nil {
				return result, err
			}
		}
		if err == io.EOF {
			break
		}
		changes = append(changes, store.Change{Delete: p.ID, IfMatch: p.Version()})
	}
	if err := writer.Visible(ctx); err != nil {
		return result, err
	}
	n, err := s.assembly.Store.Count(ctx)
	return jobs.Result{Passages: int(n.Passages), Deleted: &deleted}, err
}

// noSnapshots are those of a store.
type noSnapshots struct{}

// List implements handlers.Snapshots.
func (noSnapshots) List() ([]handlers.SnapshotInfo, error) { return []handlers.SnapshotInfo{}, nil }

// Remove implements handlers.Snapshots.
func (noSnapshots) Remove(name string) error {
	return jobs.Refuse("unknown_snapshot", "there is no snapshot %q", name)
}
