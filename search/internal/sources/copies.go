package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

const (
	deepest     = 32     // searchDistinct asks for at most this many times k hits,
	deepestHits = 20_000 // and for at most this many, or k if that is more
)

// duplicates groups the hits of all sources by the fingerprints of their title and text. Several goroutines may use it.
type duplicates struct {
	passages     storage.Fingerprinter
	mu           sync.Mutex
	groups       map[uint64][]rank.Ordinal
	fingerprints map[rank.Ordinal]uint64
}

// duplicatesIn returns an empty set in which the hits of this request are grouped by their fingerprints. It is nil, and
// no method may be called on it, if the inquiry does not collapse copies or the store has no fingerprints.
func duplicatesIn(view *snapshot.PinnedView, q Inquiry) *duplicates {
	passages, ok := view.Passages().(storage.Fingerprinter)
	if !ok || !q.Collapse {
		return nil
	}
	return &duplicates{passages: passages, groups: map[uint64][]rank.Ordinal{}, fingerprints: map[rank.Ordinal]uint64{}}
}

// searchDistinct returns up to k hits with different texts. It calls search with a growing number of hits while copies
// take places, up to deepest times k. Of several copies it keeps the first. It returns fewer than k if there are no
// more, or if they lie too deep. If copies are not looked for, it calls search once. A *storage.PartialError of search
// is returned with the hits.
func (p *Findings) searchDistinct(
	ctx context.Context,
	k int,
	search func(k int) ([]rank.Hit, error),
) ([]rank.Hit, error) {
	for depth := k; ; {
		hits, err := search(depth)
		if p.duplicates == nil || err != nil && !errors.As(err, new(*storage.PartialError)) {
			return hits, err
		}
		if checked := checkHits(hits, p.View.Passages().Ordinals()); checked != nil {
			return hits, checked
		}
		first, failed := p.duplicates.dropCopies(ctx, hits)
		most := min(deepest*k, max(k, deepestHits))
		if failed != nil || len(first) >= k || len(hits) < depth || depth >= most {
			return first[:min(len(first), k)], errors.Join(err, failed)
		}
		// As many copies are expected further down as there are above, and some more.
		depth = min(most, depth*k/max(len(first), 1)+k/2+1)
	}
}

// dropCopies returns the first hit of each text, and records all hits by their fingerprints. A hit without a
// fingerprint (0) is never a copy. If the fingerprints cannot be read, it returns all hits and an error.
func (c *duplicates) dropCopies(ctx context.Context, hits []rank.Hit) ([]rank.Hit, error) {
	ordinals := make([]rank.Ordinal, len(hits))
	for i, h := range hits {
		ordinals[i] = h.Ordinal
	}
	prints, err := c.passages.Fingerprints(ctx, ordinals)
	if err == nil && len(prints) != len(hits) {
		err = fmt.Errorf("%d fingerprints of %d passages", len(prints), len(hits))
	}
	if err != nil {
		return hits, fmt.Errorf("telling copies: %w", err)
	}
	first, seen := make([]rank.Hit, 0, len(hits)), make(map[uint64]bool, len(hits))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, h := range hits {
		x := prints[i]
		if x == 0 || !seen[x] {
			first = append(first, h)
		}
		seen[x] = true
		if x != 0 && c.fingerprints[h.Ordinal] == 0 {
			c.fingerprints[h.Ordinal] = x
			c.groups[x] = append(c.groups[x], h.Ordinal)
		}
	}
	return first, nil
}

// mergeCopies replaces each hit that has copies by the copy with the lowest id, so that all findings name the same one.
// It fails if ids cannot be read.
func (p *Findings) mergeCopies() error {
	c := p.duplicates
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for x, group := range c.groups {
		if len(group) == 1 {
			continue
		}
		group = slices.Clone(group) // a source that is late may go on
		if err := p.View.Passages().SortByID(group); err != nil {
			return err
		}
		c.groups[x] = group
	}
	for i := range p.All {
		for n := range p.All[i].Hits {
			h := &p.All[i].Hits[n]
			if group := c.groups[c.fingerprints[h.Ordinal]]; len(group) > 1 {
				h.Ordinal = group[0]
			}
		}
	}
	return nil
}

// CopiesOf returns the other passages that were found with the same title and text as a passage; nil if there are
// none.
func (p *Findings) CopiesOf(o rank.Ordinal) []rank.Ordinal {
	c := p.duplicates
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	group := c.groups[c.fingerprints[o]]
	if len(group) < 2 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(group), func(other rank.Ordinal) bool { return other == o })
}
