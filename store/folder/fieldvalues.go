package folder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/fields"
)

const fieldsName = "fields"

// fieldValues are the values of the metadata of a segment's passages: in a file that is mapped, or
// where an older program made the segment, in memory, collected when they are first asked for.
type fieldValues struct {
	store *corpus.Store
	once  sync.Once
	index *fields.Index
	err   error
}

// get returns the values.
func (f *fieldValues) get() (*fields.Index, error) {
	f.once.Do(func() {
		if f.index == nil {
			f.index, f.err = fieldsOf(context.Background(), f.store)
		}
	})
	return f.index, f.err
}

// Close implements io.Closer.
func (f *fieldValues) Close() error {
	if f.index == nil {
		return nil
	}
	return f.index.Close()
}

// fieldsOf collects the values of passages.
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

// fieldValues opens the file of a segment, or makes room for what it would hold.
func (o *opening) fieldValues(s *segmentManifest, store *corpus.Store) (*fieldValues, error) {
	if s.Fields != nil {
		return openFile(o, func(path string) (*fieldValues, error) {
			index, err := fields.Open(o.disk, path)
			if err != nil {
				return nil, err
			}
			return &fieldValues{index: index}, o.counts(*s.Fields, index.Passages(), s.Passages)
		}, *s.Fields)
	}
	key := filepath.Join(o.folder, fieldsName)
	out, err := use(o.files, key, func() (*fieldValues, error) { return &fieldValues{store: store}, nil })
	if err == nil {
		o.keys = append(o.keys, key)
	}
	return out, err
}

// verify reads the whole file of fields, and compares it with the passages' own metadata: the
// same values of the same passages are the same bytes.
func (f *fieldValues) verify(ctx context.Context, store *corpus.Store) error {
	if err := f.index.Check(); err != nil {
		return err
	}
	own, err := fieldsOf(ctx, store)
	if err != nil {
		return nil // told by the check of the passages
	}
	if !f.index.Equal(own) {
		return errors.New("the index of fields does not say what the passages say: index again")
	}
	return nil
}
