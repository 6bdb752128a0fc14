package folder

import (
	"math/bits"

	"example.org/conclave/internal/conditions"
)

// filterFields clears the bits in words of the passages of segment at that do not meet a condition, and returns how
// many bits are left. It fails if a file is damaged.
func (g *Generation) filterFields(at int, words []uint64, n *conditions.Node) (count int, err error) {
	having, err := g.segments[at].meetingBits(n)
	if err != nil {
		return 0, err
	}
	for i := range words {
		words[i] &= having[i]
		count += bits.OnesCount64(words[i])
	}
	return count, nil
}

// meetingBits returns a bit for each passage of the segment: set if it meets a condition, deleted or not. It fails if
// a file is damaged.
func (s *segment) meetingBits(n *conditions.Node) (out []uint64, err error) {
	out = make([]uint64, (s.store.Len()+63)/64)
	switch n.Op {
	case conditions.And:
		s.fillAll(out)
		for i := range n.Nodes {
			inner, err := s.meetingBits(&n.Nodes[i])
			if err != nil {
				return nil, err
			}
			for w := range out {
				out[w] &= inner[w]
			}
		}
	case conditions.Or:
		for i := range n.Nodes {
			if one := &n.Nodes[i]; one.Op == conditions.Within { // as of many values: marked in one place
				err = s.mark(one, out)
			} else {
				var inner []uint64
				inner, err = s.meetingBits(one)
				for w := range inner {
					out[w] |= inner[w]
				}
			}
			if err != nil {
				return nil, err
			}
		}
	case conditions.Not:
		inner, err := s.meetingBits(&n.Nodes[0])
		if err != nil {
			return nil, err
		}
		s.fillAll(out)
		for w := range out {
			out[w] &^= inner[w]
		}
	case conditions.HasTag:
		out, _, err = s.tags.Select([]string{n.Tag}, nil)
	default:
		err = s.mark(n, out)
	}
	return out, err
}

// mark sets the bits of the passages that have a field, or a value in it that meets n.Test. n.Op must be HasField or
// a comparison. It fails if the index is damaged.
func (s *segment) mark(n *conditions.Node, bits []uint64) error {
	if n.Op == conditions.HasField {
		return s.fields.MarkAll(n.Field, bits)
	}
	return s.fields.Mark(n.Field, n.Test, bits)
}

// fillAll sets the bits of all passages of a segment, and no bit beyond the last.
func (s *segment) fillAll(out []uint64) {
	for i := range out {
		out[i] = ^uint64(0)
	}
	if rest := s.store.Len() % 64; rest != 0 {
		out[len(out)-1] = 1<<rest - 1
	}
}

// Misfits returns a problem for each comparison in a condition that no value can meet, since the field has values of
// other kinds alone. A field that no passage has fits everything.
func (g *Generation) Misfits(n *conditions.Node) (problems []conditions.Problem, err error) {
	n.Leaves(func(leaf *conditions.Node) {
		var kinds []conditions.Kind
		for _, s := range g.segments {
			found, failed := s.fields.Kinds(leaf.Field)
			kinds = append(kinds, found...)
			if failed != nil && err == nil {
				err = failed
			}
		}
		problems = append(problems, leaf.Misfit(kinds)...)
	})
	return problems, err
}
