package folder

import (
	"context"
	"errors"
	"path/filepath"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/tags"
)

// tagsOf collects the tags of passages.
func tagsOf(ctx context.Context, store passages) (*tags.Builder, error) {
	b := tags.NewBuilder()
	for o := range rank.Ordinal(store.Len()) {
		if o%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		have, err := store.Tags(o)
		if err != nil {
			return nil, err
		}
		if err := b.Add(have); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// writeTags writes the file of tags of the passages of a new segment.
func writeTags(ctx context.Context, d disk.Disk, dir string, store passages) error {
	b, err := tagsOf(ctx, store)
	if err != nil {
		return err
	}
	return b.Write(d, filepath.Join(dir, tagsName))
}

// verifyTags reads the whole file of tags, and compares it with the passages'
// own tags: the same tags of the same passages are the same bytes.
func verifyTags(ctx context.Context, index *tags.Index, store *corpus.Store) error {
	if err := index.Check(); err != nil {
		return err
	}
	b, err := tagsOf(ctx, store)
	if err != nil {
		return nil // told by the check of the passages
	}
	own, err := b.Index()
	if err == nil && !index.Equal(own) {
		err = errors.New("the index of tags does not say what the passages say: index again")
	}
	return err
}
