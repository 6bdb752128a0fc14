package server

import (
	"context"
	"errors"
	"io"
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
func (s *collection) deleteTagged(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if len(t.TagsAll)+len(t.TagsAny)+len(t.IDs) == 0 {
		return result, errors.New("the job names neither tags nor ids, and does not delete everything")
	}
	t.Report(jobs.Progress{Stage: "indexing what was written", Total: -1, Unit: "changes"})
	if err := s.flush(ctx, t.Report); err != nil {
		return result, err
	}
	remove := s.deleteSelected
	if len(t.IDs) > 0 {
		remove = func(ctx context.Context, t jobs.Task) (int, error) { return deleteNamed(ctx, s.writer, t) }
	}
	deleted, err := remove(ctx, t)
	if err != nil {
		return result, err
	}
	if err := s.flush(ctx, t.Report); err != nil {
		return result, err
	}
	result.Deleted = &deleted
	result.Generation, result.Passages, err = s.assembly.Store.Count(ctx)
	return result, err
}

// deletingStage is what the progress of a deletion is of.
const deletingStage = "deleting"

// deleteSelected deletes what has the tags now; it reports how many passages all
// attempts together have deleted.
func (s *collection) deleteSelected(ctx context.Context, t jobs.Task) (deleted int, err error) {
	tagged, err := s.writer.Tagged(ctx, t.TagsAll, t.TagsAny)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tagged.Close() }() // else it ends by itself
	total := -1
	var changes []store.Change
	apply := func() error {
		if total < 0 {
			total = int(tagged.Total())
			deleted, err = deletedBefore(t, total)
			if err != nil {
				return err
			}
			total += deleted
		}
		n := 0
		if len(changes) > 0 {
			n, err = deletedNow(ctx, s.writer, changes)
		}
		deleted += n
		changes = changes[:0]
		t.Report(jobs.Progress{Stage: deletingStage, Done: int64(deleted), Total: int64(total), Unit: "passages"})
		return err
	}
	for {
		p, err := tagged.Next()
		if err == io.EOF {
			return deleted, apply()
		}
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
	deleted, err = deletedBefore(t, len(changes))
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

// deletedBefore returns how many passages the attempts before have deleted. The first one writes
// down how many there were, or the progress that the job had says it; the others find fewer.
func deletedBefore(t jobs.Task, selected int) (int, error) {
	if t.Scratch == "" { // many servers share the job
		if t.Progress != nil && t.Progress.Stage == deletingStage {
			return max(0, int(t.Progress.Total)-selected), nil
		}
		return 0, nil
	}
	if text, err := os.ReadFile(t.Scratch); err == nil {
		if first, err := strconv.Atoi(string(text)); err == nil {
			return max(0, first-selected), nil
		}
	}
	return 0, os.WriteFile(t.Scratch, []byte(strconv.Itoa(selected)), 0o600)
}
