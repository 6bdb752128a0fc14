package folder

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/fields"
	"example.org/conclave/store/folder/internal/manifest"
)

const fieldsName = "fields"

// fieldsOf builds the index of the metadata of all stored passages, deleted or not. It fails if a passage's metadata
// cannot be read or ctx ends.
func fieldsOf(ctx context.Context, store *corpus.Store) (*fields.Index, error) {
	b := fields.NewBuilder()
	for o := range rank.Ordinal(store.Len()) {
		if o%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		stored, err := store.Metadata(o)
		if err != nil {
			return nil, err
		}
		metadata, err := conditions.Decode(stored)
		if err != nil {
			return nil, fmt.Errorf("the metadata of passage number %d: %w", o, err)
		}
		if err := b.Add(metadata); err != nil {
			return nil, err
		}
	}
	return b.Index()
}

// openFields opens the index of a segment's metadata. It fails if it is not of as many passages as the segment.
func (o *opening) openFields(s *manifest.Segment) (*fields.Index, error) {
	return openFile(o, func(path string) (*fields.Index, error) {
		index, err := fields.Open(o.disk, path)
		if err != nil {
			return nil, err
		}
		return index, o.checkCount(s.Fields, index.Passages(), s.Passages)
	}, s.Fields)
}

// verifyFields reads the whole index of metadata and returns an error unless it is the one that the stored passages
// give. It skips the comparison if passages cannot be read, which the check of texts reports.
func verifyFields(ctx context.Context, index *fields.Index, store *corpus.Store) error {
	if err := index.Check(); err != nil {
		return err
	}
	own, err := fieldsOf(ctx, store)
	if err != nil {
		return nil // told by the check of the passages
	}
	if !index.Equal(own) {
		return errors.New("the index of fields differs from the metadata of the passages: index again")
	}
	return nil
}
