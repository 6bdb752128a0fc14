package folder

import (
	"context"
	"errors"
	"slices"

	"example.org/conclave/store/folder/internal/manifest"
)

// Delete takes passages out of the collection in dir, all at once, as a live one
// does when it flushes, and says how many of the ids were there.
func Delete(ctx context.Context, dir string, ids []string) (deleted int, err error) {
	return withWriter(dir, func(w *writer) (int, error) { return w.delete(ctx, ids) })
}

func (w *writer) delete(ctx context.Context, ids []string) (deleted int, err error) {
	if err := errors.Join(w.checkBuilt(), w.checkNonePending()); err != nil {
		return 0, err
	}
	errNothing := errors.New("nothing to delete")
	made := w.draft()
	defer made.discard()
	_, err = w.publish(ctx, made, func(m *manifest.Manifest) (err error) {
		deleted, err = w.bury(ctx, made, m, slices.Values(ids))
		if err == nil && deleted == 0 {
			return errNothing
		}
		return err
	})
	if errors.Is(err, errNothing) {
		return 0, nil
	}
	return deleted, err
}
