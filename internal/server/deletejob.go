package server

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
)

// deleteAtOnce is how many passages are deleted by one write to the log.
const deleteAtOnce = 1000

// deleteTagged runs a job that deletes passages by ids or, if there are none, by tags and a condition. It fails if
// the job names none of these, so that no job deletes everything. It waits until searches see the deletions;
// result counts those of all attempts.
func (s *collection) deleteTagged(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
	if len(t.TagsAll)+len(t.TagsAny)+len(t.IDs) == 0 && t.Filter.Empty() {
		return result, errors.New("the job names neither tags, nor a condition, nor ids, and does not delete everything")
	}
	t.Report(jobs.Progress{Stage: "indexing what was written", Total: -1, Unit: "changes"})
	if err := s.awaitVisible(ctx, t.Report); err != nil {
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
	if err := s.awaitVisible(ctx, t.Report); err != nil {
		return result, err
	}
	result.Deleted = &deleted
	result.Generation, result.Passages, err = s.assembly.Store.Count(ctx)
	return result, err
}

// deletingStage is the stage in the progress of a deletion.
const deletingStage = "deleting"

// selectionFilter returns the filter for a job's tags and condition. It returns a *conditions.MisfitError if the
// condition does not fit the collection's fields.
func (s *collection) selectionFilter(t jobs.Task) (f storage.Filter, err error) {
	f.TagsAll, f.TagsAny = t.TagsAll, t.TagsAny
	if t.Filter == nil {
		return f, nil
	}
	where, wrong := t.Filter.Compile(s.assembly.Engine.Defaults().Fields)
	if wrong != nil {
		return f, &conditions.MisfitError{Problems: wrong}
	}
	f.Where = where
	return f, nil
}

// deleteSelected deletes the passages that the job's filter selects now, and returns how many all attempts of the job
// have deleted, also beside an error. If the store can and the ids take at most TogetherBytes, searches see all
// deletions at once; otherwise it deletes deleteAtOnce at a time. It does not delete a passage that was replaced
// meanwhile.
func (s *collection) deleteSelected(ctx context.Context, t jobs.Task) (deleted int, err error) {
	f, err := s.selectionFilter(t)
	if err != nil {
		return 0, err
	}
	selected, err := s.writer.Selected(ctx, f)
	if err != nil {
		return 0, err
	}
	defer func() { _ = selected.Close() }() // else it ends by itself
	total := -1
	var changes []store.Change
	bytes := 0
	begin := func() error {
		if total >= 0 {
			return nil
		}
		total = int(selected.Total())
		deleted, err = deletedBefore(t, total)
		total += deleted
		return err
	}
	apply := func(delete func(context.Context, []store.Change) (int, error)) error {
		if err := begin(); err != nil {
			return err
		}
		n := 0
		if len(changes) > 0 {
			n, err = delete(ctx, changes)
		}
		deleted += n
		changes = changes[:0]
		bytes = 0
		t.Report(jobs.Progress{Stage: deletingStage, Done: int64(deleted), Total: int64(total), Unit: "passages"})
		return err
	}
	byParts := func(ctx context.Context, changes []store.Change) (deleted int, err error) {
		for part := range slices.Chunk(changes, deleteAtOnce) {
			n, err := deleteNow(ctx, s.writer, part)
			deleted += n
			if err != nil {
				return deleted, err
			}
		}
		return deleted, nil
	}
	together := s.writer.TogetherBytes()
	for {
		p, err := selected.Next()
		if err == io.EOF && together > 0 {
			return deleted, apply(s.deleteTogether)
		} else if err == io.EOF {
			return deleted, apply(byParts)
		}
		if err != nil {
			return deleted, err
		}
		changes = append(changes, store.Change{Delete: p.ID, IfMatch: p.Version()})
		bytes += len(p.ID)
		if bytes > together && len(changes) >= deleteAtOnce {
			together = 0 // too much for one
			if err := apply(byParts); err != nil {
				return deleted, err
			}
		}
	}
}

// deleteTogether deletes passages so that searches see all deletions at once, and returns how many it deleted; 0
// beside an error. It leaves out passages that were replaced meanwhile and tries again without them.
func (s *collection) deleteTogether(ctx context.Context, changes []store.Change) (int, error) {
	for len(changes) > 0 {
		results, err := s.writer.ApplyTogether(ctx, changes)
		if err != nil {
			return 0, err
		}
		kept := changes[:0:0]
		deleted := 0
		for i, r := range results {
			var replaced *store.VersionError
			switch {
			case errors.As(r.Err, &replaced):
				continue
			case r.Err != nil:
				return 0, r.Err
			case r.Outcome == store.Deleted:
				deleted++
			}
			kept = append(kept, changes[i])
		}
		if len(kept) == len(changes) {
			return deleted, nil
		}
		changes = kept
	}
	return 0, nil
}

// deleteNamed deletes the passages with the job's ids, and returns how many all attempts of the job have deleted.
// Unknown ids are skipped. It fails if an id cannot be looked up or a deletion fails; others may have been made.
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
	n, err := deleteNow(ctx, w, changes)
	return deleted + n, err
}

// deleteNow applies deletions and returns how many passages it deleted. Those that are gone or were replaced
// meanwhile do not count and are no error. After an error, others of changes may have been deleted.
func deleteNow(ctx context.Context, w handlers.Writer, changes []store.Change) (deleted int, err error) {
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

// deletedBefore returns how many passages earlier attempts of the job have deleted; selected is how many the job
// selects now. The first attempt writes that number to the job's scratch file. If the job has no scratch path, the
// number is taken from its progress. It fails if the file cannot be written.
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
