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

// tagsOf returns a builder with the tags of all passages, deleted ones too. It fails if a file is damaged or ctx
// ends.
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

// writeTags writes the index of the passages' tags into the folder of a new segment. It fails if the tags cannot be
// read, the file cannot be written, or ctx ends.
func writeTags(ctx context.Context, d disk.Disk, dir string, store passages) error {
	b, err := tagsOf(ctx, store)
	if err != nil {
		return err
	}
	return b.Write(d, filepath.Join(dir, tagsName))
}

// verifyTags reads the whole index of tags and returns an error unless it is the one that the stored passages give. It
// skips the comparison if passages cannot be read, which the check of texts reports.
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
		err = errors.New("the index of tags differs from the tags of the passages: index again")
	}
	return err
}
