package folder

import (
	"errors"
	"sort"

	"example.org/conclave/internal/rank"
)

// After returns at most limit passages that are not deleted and whose ids come after id, in the order of the ids'
// bytes. "" is before all ids. It returns nil if limit is less than 1, or no passage is left. On an error, out has
// those that were found before.
func (g *Generation) After(id string, limit int) (out []rank.Ordinal, err error) {
	if limit < 1 {
		return nil, nil
	}
	err = eachByID(g.segments, id, func(at origin) (bool, error) {
		out = append(out, g.segments[at.segment].base+at.ordinal)
		return len(out) < limit, nil
	})
	return out, err
}

// eachByID calls visit with each live passage of some segments whose id comes after the given one, "" being before
// all, in the order of ids across all segments. It stops when visit returns false or an error, and returns that
// error, or that of a damaged file.
func eachByID(from []*segment, after string, visit func(at origin) (bool, error)) error {
	next := make([]rank.Ordinal, len(from))
	ids := make([]string, len(from)) // of next; "" at the end
	advance := func(i int) (err error) {
		s := from[i]
		for int(next[i]) < s.store.Len() && s.dead.Has(next[i]) {
			next[i]++
		}
		ids[i] = ""
		if int(next[i]) < s.store.Len() {
			ids[i], err = s.store.ID(next[i])
		}
		return err
	}
	for i, s := range from {
		var failed error
		if after != "" {
			next[i] = rank.Ordinal(sort.Search(s.store.Len(), func(o int) bool {
				at, err := s.store.ID(rank.Ordinal(o))
				failed = errors.Join(failed, err)
				return at > after
			}))
		}
		if err := errors.Join(failed, advance(i)); err != nil {
			return err
		}
	}
	for {
		least := -1 // a handful of segments: looking at each is as fast as a heap
		for i := range ids {
			if ids[i] != "" && (least < 0 || ids[i] < ids[least]) {
				least = i
			}
		}
		if least < 0 {
			return nil
		}
		if more, err := visit(origin{least, next[least]}); err != nil || !more {
			return err
		}
		next[least]++
		if err := advance(least); err != nil {
			return err
		}
	}
}

// Bytes returns the total size of the files of the generation's segments.
func (g *Generation) Bytes() int64 {
	var n int64
	for i := range g.manifest.Segments {
		for _, f := range g.manifest.Segments[i].Files() {
			n += f.Size
		}
	}
	return n
}
