package folder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
)

const (
	copiesName  = "copies"
	copiesMagic = "copies 1"
)

// fingerprints are corpus.Passage.Fingerprint of each passage of a segment, in a mapped file: copiesMagic, then eight
// bytes for each.
type fingerprints struct{ mapping *disk.Mapping }

// Close unmaps the file. It returns the error of unmapping.
func (f *fingerprints) Close() error { return f.mapping.Close() }

// fingerprint returns the fingerprint of a passage of the segment. It panics for one beyond the last.
func (f *fingerprints) fingerprint(o rank.Ordinal) uint64 {
	return binary.LittleEndian.Uint64(f.mapping.Data[len(copiesMagic)+8*int(o):])
}

// fingerprints opens a segment's file of fingerprints. It fails if the file has not the size for the segment's
// passages.
func (o *opening) fingerprints(s *manifest.Segment) (*fingerprints, error) {
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
		return &fingerprints{m}, nil
	}, s.Copies)
}

// verify returns an error for the first passage whose fingerprint in the file is not that of its text. It stops without
// an error at a passage that cannot be read, which the check of texts reports.
func (f *fingerprints) verify(ctx context.Context, store *corpus.Store) error {
	for o := range rank.Ordinal(store.Len()) {
		if o%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := store.Passage(o)
		if err != nil {
			return nil // told by the check of the passages
		}
		if f.fingerprint(o) != p.Fingerprint() {
			return fmt.Errorf("the file %s has another fingerprint of passage %q than its text: index again", copiesName, p.ID)
		}
	}
	return nil
}

// Fingerprint returns a hash of a passage's title and text (corpus.Passage.Fingerprint): copies have the same one. It
// fails for an ordinal that no passage of the generation has.
func (g *Generation) Fingerprint(ordinal rank.Ordinal) (uint64, error) {
	s, o, err := g.locate(ordinal)
	if err != nil {
		return 0, err
	}
	return s.copies.fingerprint(o), nil
}

// Copies returns how many live passages have the same title and text as another one, not counting one of each. It
// reads all fingerprints, eight bytes a passage, and returns ctx's error if that ends first.
func (g *Generation) Copies(ctx context.Context) (int, error) {
	all := make([]uint64, 0, g.Len())
	for _, s := range g.segments {
		for o := range rank.Ordinal(s.store.Len()) {
			if o%1024 == 0 && ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if s.dead.Has(o) {
				continue
			}
			all = append(all, s.copies.fingerprint(o))
		}
	}
	n := len(all)
	slices.Sort(all)
	return n - len(slices.Compact(all)), nil
}
