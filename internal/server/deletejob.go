package server

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/store"
)

// deleteAtOnce is how many passages are deleted by one write to the log.
const deleteAtOnce = 1000

// deleteTagged returns the work of deleting passages by their tags, or their ids.
func (s *Server) deleteTagged(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if err := namesTags(t); err != nil {
		return result, err
	}
	t.Report(jobs.Progress{Stage: "indexing what was written", Total: -1, Unit: "changes"})
	if err := s.flush(ctx, t.Report); err != nil {
		return result, err
	}
	remove := s.deleteSelected
	if len(t.IDs) > 0 {
		remove = func(ctx context.Context, t jobs.Task) (int, error) { return deleteNamed(ctx, s.live, t) }
	}
	deleted, err := remove(ctx, t)
	if err != nil {
		return result, err
	}
	if err := s.flush(ctx, t.Report); err != nil {
		return result, err
	}
	g := s.assembly.Collection.Acquire()
	defer g.Release()
	return jobs.Result{Generation: g.Number(), Passages: g.Len(), Deleted: &deleted}, nil
}

func namesTags(t jobs.Task) error {
	if len(t.TagsAll)+len(t.TagsAny)+len(t.IDs) == 0 {
		return errors.New("the job names neither tags nor ids, and does not delete everything")
	}
	return nil
}

// deleteSelected deletes what has the tags now; it reports how many passages all
// attempts together have deleted.
func (s *Server) deleteSelected(ctx context.Context, t jobs.Task) (deleted int, err error) {
	g := s.assembly.Collection.Acquire()
	defer g.Release()
	selection, err := g.Select(t.TagsAll, t.TagsAny)
	if err != nil {
		return 0, err
	}
	deleted, err = deletedBefore(t.Scratch, selection.Len())
	if err != nil {
		return 0, err
	}
	total := int64(deleted + selection.Len())
	report := func() {
		t.Report(jobs.Progress{Stage: "deleting", Done: int64(deleted), Total: total, Unit: "passages"})
	}
	report()
	var changes []store.Change
	apply := func() error {
		if len(changes) == 0 {
			return nil
		}
		n, err := deletedNow(ctx, s.live, changes)
		deleted += n
		changes = changes[:0]
		report()
		return err
	}
	for ordinal := range selection.Ordinals() {
		p, err := g.Passage(ordinal)
		if err != nil {
			return deleted, err
		}
		changes = append(changes, store.Change{Delete: p.ID, IfMatch: p.Version()})
		if len(changes) == deleteAtOnce {
			if err := apply(); err != nil {
				return deleted, err
			}
		}
	}
	return deleted, apply()
}

// deleteNamed deletes the passages with the job's ids; it reports how many all attempts
// together have deleted.
func deleteNamed(ctx context.Context, w handlers.Writer, t jobs.Task) (deleted int, err error) {
	var changes []store.Change
	for _, id := range t.IDs {
		_, _, found, err := w.Passage(ctx, id, func(int) error { return nil }) // one at a time
		if err != nil {
			return 0, err
		}
		if found && !slices.ContainsFunc(changes, func(c store.Change) bool { return c.Delete == id }) {
			changes = append(changes, store.Change{Delete: id})
		}
	}
	if t.Scratch != "" { // a store's job has none
		deleted, err = deletedBefore(t.Scratch, len(changes))
	}
	if err != nil || len(changes) == 0 {
		return deleted, err
	}
	n, err := deletedNow(ctx, w, changes)
	return deleted + n, err
}

// deletedNow makes deletions, and says how many passages were still there as they had been
// found.
func deletedNow(ctx context.Context, w handlers.Writer, changes []store.Change) (deleted int, err error) {
	results, err := w.Apply(ctx, changes)
	for _, r := range results {
		var replaced *store.VersionError // somebody else was faster, and is not undone
		if r.Err != nil && !errors.As(r.Err, &replaced) {
			return deleted, r.Err
		}
		if r.Outcome == store.Deleted {
			deleted++
		}
	}
	return deleted, err
}

// deletedBefore returns how many passages the attempts before have deleted. The first
// one writes down how many there were; the others find fewer.
func deletedBefore(scratch string, selected int) (int, error) {
	if text, err := os.ReadFile(scratch); err == nil {
		if first, err := strconv.Atoi(string(text)); err == nil {
			return max(0, first-selected), nil
		}
	}
	return 0, os.WriteFile(scratch, []byte(strconv.Itoa(selected)), 0o600)
}
