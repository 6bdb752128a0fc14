package collection

import (
	"sort"

	"conclave/rank"
)

// After is the passages whose ids come after one in the order of their bytes, at
// most so many; "" is before all.
func (g *Generation) After(id string, limit int) ([]rank.Ordinal, error) {
	// Each segment numbers its passages in that order.
	next := make([]rank.Ordinal, len(g.segments))
	ids := make([]string, len(g.segments)) // of next; "" at the end
	advance := func(i int, from rank.Ordinal) (err error) {
		s := g.segments[i]
		for int(from) < s.store.Len() && s.dead.has(from) {
			from++
		}
		next[i], ids[i] = from, ""
		if int(from) < s.store.Len() {
			ids[i], err = s.store.ID(from)
		}
		return err
	}
	for i, s := range g.segments {
		var failed error
		from := sort.Search(s.store.Len(), func(o int) bool {
			at, err := s.store.ID(rank.Ordinal(o))
			if err != nil {
				failed = err
			}
			return at > id
		})
		if failed == nil {
			failed = advance(i, rank.Ordinal(from))
		}
		if failed != nil {
			return nil, failed
		}
	}
	var out []rank.Ordinal
	for len(out) < limit {
		first := -1
		for i := range ids {
			if ids[i] != "" && (first < 0 || ids[i] < ids[first]) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		out = append(out, g.segments[first].base+next[first])
		if err := advance(first, next[first]+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Bytes is how many bytes the files of the generation's segments have.
func (g *Generation) Bytes() int64 {
	var n int64
	for i := range g.manifest.Segments {
		for _, f := range g.manifest.Segments[i].files() {
			n += f.Size
		}
	}
	return n
}
