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
	deepest     = 32 // times as many hits are asked for at most as are wanted, where many are copies
	deepestHits = 20_000
)

// duplicates are the passages that the sources of a pass found, by fingerprints.
type duplicates struct {
	passages     storage.Fingerprinted
	mu           sync.Mutex
	groups       map[uint64][]rank.Ordinal
	fingerprints map[rank.Ordinal]uint64
}

// duplicatesIn returns nil where each passage counts for itself.
func duplicatesIn(view *snapshot.Pinned, q Inquiry) *duplicates {
	passages, ok := view.Passages().(storage.Fingerprinted)
	if !ok || !q.Collapse {
		return nil
	}
	return &duplicates{passages: passages, groups: map[uint64][]rank.Ordinal{}, fingerprints: map[rank.Ordinal]uint64{}}
}

// searchDistinct searches for k passages of different texts: where some hits are copies of others,
// it searches deeper. Of equal ones it returns the first. It returns fewer than k where there
// are no more, or where they are too deep.
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

// dropCopies returns the first hits of each text. It remembers the others as copies.
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

// mergeCopies lets all findings name the same of several copies: that with the lowest id.
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
