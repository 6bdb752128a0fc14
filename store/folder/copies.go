package folder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

const (
	copiesName  = "copies"
	copiesMagic = "copies 1"
)

// fingerprints are corpus.Passage.Fingerprint of each passage of a segment: in a file that is
// mapped, eight bytes each behind copiesMagic, or where an older program made the segment,
// computed when they are first asked for.
type fingerprints struct {
	mapping *disk.Mapping
	store   *corpus.Store
	known   []atomic.Uint64 // 0: not yet
}

// Close implements io.Closer.
func (f *fingerprints) Close() error {
	if f.mapping == nil {
		return nil
	}
	return f.mapping.Close()
}

// fingerprint returns the fingerprint of a passage.
func (f *fingerprints) fingerprint(o rank.Ordinal) (uint64, error) {
	if f.mapping != nil {
		return binary.LittleEndian.Uint64(f.mapping.Data[len(copiesMagic)+8*int(o):]), nil
	}
	if known := f.known[o].Load(); known != 0 {
		return known, nil
	}
	p, err := f.store.Passage(o)
	if err != nil {
		return 0, err
	}
	f.known[o].Store(p.Fingerprint())
	return f.known[o].Load(), nil
}

// fingerprints opens the file of a segment, or makes room for what it would hold.
func (o *opening) fingerprints(s *segmentManifest, store *corpus.Store) (*fingerprints, error) {
	if s.Copies != nil {
		return openFile(o, func(path string) (*fingerprints, error) {
			m, err := o.disk.Map(path)
			if err != nil {
				return nil, err
			}
			if want := len(copiesMagic) + 8*s.Passages; len(m.Data) != want || string(m.Data[:len(copiesMagic)]) != copiesMagic {
				return nil, errors.Join(
					fmt.Errorf("%s is not of %d passages: restore the collection from a snapshot, or index again", path, s.Passages),
					m.Close(),
				)
			}
			return &fingerprints{mapping: m}, nil
		}, *s.Copies)
	}
	key := filepath.Join(o.folder, copiesName)
	out, err := use(o.files, key, func() (*fingerprints, error) {
		return &fingerprints{store: store, known: make([]atomic.Uint64, s.Passages)}, nil
	})
	if err == nil {
		o.keys = append(o.keys, key)
	}
	return out, err
}

// verify compares a segment's file with its passages.
func (f *fingerprints) verify(ctx context.Context, store *corpus.Store) error {
	if f.mapping == nil {
		return nil
	}
	for o := range rank.Ordinal(store.Len()) {
		if o%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := store.Passage(o)
		if err != nil {
			return nil // told by the check of the passages
		}
		if said, _ := f.fingerprint(o); said != p.Fingerprint() {
			return fmt.Errorf("the file %s has another fingerprint of passage %q than its text: index again", copiesName, p.ID)
		}
	}
	return nil
}

// Fingerprint returns a number that passages with the same title and text share, as
// corpus.Passage.Fingerprint has it.
func (g *Generation) Fingerprint(ordinal rank.Ordinal) (uint64, error) {
	s, o, err := g.place(ordinal)
	if err != nil {
		return 0, err
	}
	return s.copies.fingerprint(o)
}

// Copies returns how many passages have the title and the text of another one that comes before
// them. It reads all fingerprints, eight bytes a passage.
func (g *Generation) Copies(ctx context.Context) (int, error) {
	all := make([]uint64, 0, g.Len())
	for _, s := range g.segments {
		for o := range rank.Ordinal(s.store.Len()) {
			if o%1024 == 0 && ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if s.dead.has(o) {
				continue
			}
			x, err := s.copies.fingerprint(o)
			if err != nil {
				return 0, err
			}
			all = append(all, x)
		}
	}
	n := len(all)
	slices.Sort(all)
	return n - len(slices.Compact(all)), nil
}
