package collection

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"conclave/collection/tags"
	"conclave/corpus"
	"conclave/rank"
)

// segmentTags is which passages of a segment have which tags.
//
// Segments from before there was a file of tags have none. Their passages carry
// tags all the same, and to answer as if they had none would be a wrong answer;
// to read them when the collection is opened would make opening it cost as much
// as it has passages. So the index of such a segment is made in memory when a
// filter first asks for it, once for as long as the segment is open, and the
// next merge gives it a file.
//
// What waits in the log needs no index: searches do not see it before it is in a
// segment.
type segmentTags struct {
	index *tags.Index // of the file; nil if there is none

	mu      sync.Mutex
	store   *corpus.Store
	builder *tags.Builder // how far the passages were read; nil before and after
	made    *tags.Index   // in memory
}

// openTags opens the file of tags, if there is one.
func openTags(d disk, path string, hasFile bool, store *corpus.Store) (*segmentTags, error) {
	if !hasFile {
		return &segmentTags{store: store}, nil
	}
	x, err := tags.Open(d, path)
	if err != nil {
		return nil, err
	}
	if n := x.Passages(); n != store.Len() {
		return nil, errors.Join(fmt.Errorf("%s is of %d passages, the segment has %d", path, n, store.Len()), x.Close())
	}
	return &segmentTags{index: x, store: store}, nil
}

// Close gives up the file.
func (s *segmentTags) Close() error {
	if s.index == nil {
		return nil
	}
	return s.index.Close()
}

// get is the index. Where it has to be made and ctx ends before that is done,
// the next call goes on from there.
func (s *segmentTags) get(ctx context.Context) (*tags.Index, error) {
	if s.index != nil {
		return s.index, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil {
		return s.made, nil
	}
	if s.builder == nil {
		s.builder = tags.NewBuilder()
	}
	if err := readTags(ctx, s.builder, s.store); err != nil {
		return nil, err
	}
	made, err := s.builder.Index()
	if err != nil {
		return nil, err
	}
	s.made, s.builder = made, nil
	return made, nil
}

// readTags adds the tags of the passages that the builder does not have yet.
func readTags(ctx context.Context, b *tags.Builder, store *corpus.Store) error {
	for b.Passages() < store.Len() {
		if b.Passages()%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		have, err := store.Tags(rank.Ordinal(b.Passages()))
		if err != nil {
			return err
		}
		if err := b.Add(have); err != nil {
			return err
		}
	}
	return nil
}

// writeTags writes the file of tags of the passages of a new segment.
func writeTags(ctx context.Context, d disk, dir string, store *corpus.Store) error {
	b := tags.NewBuilder()
	if err := readTags(ctx, b, store); err != nil {
		return err
	}
	return b.Write(d, filepath.Join(dir, tagsName))
}

// verify reads the whole file, and compares it with the passages' own tags: the
// same tags of the same passages are the same bytes.
func (s *segmentTags) verify(ctx context.Context) error {
	if s.index == nil {
		return nil
	}
	if err := s.index.Check(); err != nil {
		return err
	}
	b := tags.NewBuilder()
	if err := readTags(ctx, b, s.store); err != nil {
		return nil // told by the check of the passages
	}
	own, err := b.Index()
	if err == nil && !s.index.Equal(own) {
		err = errors.New("the index of tags does not say what the passages say: index again")
	}
	return err
}
