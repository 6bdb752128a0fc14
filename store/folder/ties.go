package folder

import (
	"cmp"
	"errors"
	"slices"

	"example.org/conclave/internal/rank"
)

// merge returns the best k hits of several segments, by score and then by passage id; nil if there are no lists. Each
// list must be sorted that way and hold the best k of its segment. Then the result is exact: what one segment with
// all the passages would give. The result shares the memory of a single list. It fails if an id cannot be read.
func (g *Generation) merge(lists [][]rank.Hit, k int) ([]rank.Hit, error) {
	if len(lists) == 0 {
		return nil, nil
	}
	if len(lists) == 1 {
		return lists[0][:min(k, len(lists[0]))], nil
	}
	var all []rank.Hit
	for _, list := range lists {
		all = append(all, list...)
	}
	rank.Sort(all)
	if err := g.sortTies(all, k); err != nil {
		return nil, err
	}
	return all[:min(k, len(all))], nil
}

// sortTies puts hits with equal scores in the order of their ids, if they are among the first k. hits must be in
// rank.Compare's order. Hits of one segment are then in order already, so ids are read only where hits of several
// segments meet. It fails if an id cannot be read.
func (g *Generation) sortTies(hits []rank.Hit, k int) error {
	for from := 0; from < min(k, len(hits)); {
		to := from + 1
		for to < len(hits) && hits[to].Score == hits[from].Score {
			to++
		}
		if ties := hits[from:to]; len(ties) > 1 && g.segmentOf(ties[0].Ordinal) != g.segmentOf(ties[len(ties)-1].Ordinal) {
			if err := g.sortByID(ties); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// compareIDs returns -1, 0 or 1 as the id of passage a is less than, equal to or greater than that of b. It fails if
// one cannot be read.
func (g *Generation) compareIDs(a, b rank.Ordinal) (int, error) {
	x, err1 := g.ID(a)
	y, err2 := g.ID(b)
	return cmp.Compare(x, y), errors.Join(err1, err2)
}

// SortByID sorts passages by their ids, in place. It reads ids only if the passages are of several segments. If one
// cannot be read it fails, and leaves the passages sorted by ordinal.
func (g *Generation) SortByID(passages []rank.Ordinal) error {
	slices.Sort(passages)
	if len(passages) < 2 || g.segmentOf(passages[0]) == g.segmentOf(passages[len(passages)-1]) {
		return nil
	}
	hits := make([]rank.Hit, len(passages))
	for i, p := range passages {
		hits[i].Ordinal = p
	}
	if err := g.sortByID(hits); err != nil {
		return err
	}
	for i := range hits {
		passages[i] = hits[i].Ordinal
	}
	return nil
}

// sortByID sorts hits by their passages' ids, in place. It fails, and changes nothing, if an id cannot be read.
func (g *Generation) sortByID(hits []rank.Hit) error {
	type named struct {
		id  string
		hit rank.Hit
	}
	list := make([]named, len(hits))
	for i, h := range hits {
		id, err := g.ID(h.Ordinal)
		if err != nil {
			return err
		}
		list[i] = named{id, h}
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Compare(a.id, b.id) })
	for i := range list {
		hits[i] = list[i].hit
	}
	return nil
}
