package folder

import (
	"fmt"

	"example.org/conclave/store/folder/internal/manifest"
)

// MergePolicy says when segments are merged. Zero values are the defaults.
//
// Segments are sorted into tiers by their live passages: up to Smallest, up to
// Smallest·Factor, up to Smallest·Factor², and so on. When a tier has Factor
// segments, they become one, of the next tier. So a collection of n passages
// has at most (Factor−1)·(1+log_Factor(n/Smallest)) segments when no merge is
// due, and a passage is written again once for each tier. A segment of which more
// than maxDeleted is deleted is merged alone, to drop its deleted passages. Until
// it is done, a merge needs at most as much disk as the segments that it replaces.
// So a tier beyond maxMerged is left alone, and a merge waits while the disk has no
// room for it (see checkRoom).
type MergePolicy struct {
	Factor   int // default 8
	Smallest int // default 1,000 passages
	// Threads builds the graphs of merged segments; default 1, so that searches
	// keep the other processors.
	Threads int
	// Off turns merging off.
	Off bool
}

const (
	maxMerged  = 50_000_000 // passages: the most that a merged segment may have
	maxDeleted = 0.3        // share of a segment's passages that may be deleted
)

// complete sets the defaults of fields that are zero. It returns an error for impossible values.
func (p *MergePolicy) complete() error {
	if p.Factor == 0 {
		p.Factor = 8
	}
	if p.Smallest == 0 {
		p.Smallest = 1000
	}
	if p.Threads == 0 {
		p.Threads = 1
	}
	if p.Factor < 2 || p.Smallest < 1 || p.Threads < 1 {
		return fmt.Errorf("impossible merge policy %+v: Factor is at least 2, Smallest and Threads at least 1", *p)
	}
	return nil
}

// choose returns the names of the segments to merge next; nil if there is nothing to merge or Off is set. The smallest
// tier that is full comes first, since it is the cheapest and makes room; then a segment with too many deleted
// passages.
func (p *MergePolicy) choose(segments []manifest.Segment) []string {
	if p.Off {
		return nil
	}
	tiers := map[int][]string{}
	sizes := map[int]int{}
	highest := 0
	for i := range segments {
		s := &segments[i]
		live := s.Passages - s.Deleted
		tier := 0
		for bound := p.Smallest; live > bound; bound *= p.Factor {
			tier++
		}
		tiers[tier] = append(tiers[tier], s.Name)
		sizes[tier] += live
		highest = max(highest, tier)
	}
	for tier := 0; tier <= highest; tier++ {
		if len(tiers[tier]) >= p.Factor && sizes[tier] <= maxMerged {
			return tiers[tier]
		}
	}
	for i := range segments {
		if s := &segments[i]; float64(s.Deleted) > maxDeleted*float64(s.Passages) {
			return []string{s.Name}
		}
	}
	return nil
}
