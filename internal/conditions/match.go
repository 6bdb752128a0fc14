package conditions

import "slices"

// Matches reports whether a passage with these tags and metadata meets the condition.
func (n *Node) Matches(tags []string, metadata map[string]any) bool {
	return n.matches(tags, func(field string, has func(Datum) bool) bool {
		found := false
		Each(metadata, func(d Datum) { found = found || d.Field == field && has(d) })
		return found
	})
}

// matches reports whether a passage with these tags meets the condition. some tells of the passage's metadata: it
// reports whether has returns true for at least one value of the field.
func (n *Node) matches(tags []string, some func(field string, has func(Datum) bool) bool) bool {
	switch n.Op {
	case And:
		return !slices.ContainsFunc(n.Nodes, func(n Node) bool { return !n.matches(tags, some) })
	case Or:
		return slices.ContainsFunc(n.Nodes, func(n Node) bool { return n.matches(tags, some) })
	case Not:
		return !n.Nodes[0].matches(tags, some)
	case HasTag:
		return slices.Contains(tags, n.Tag)
	case HasField:
		return some(n.Field, func(Datum) bool { return true })
	}
	return some(n.Field, n.Test.Has)
}

// Has reports whether the interval contains a value: a word from From (included) to To (excluded; "": no bound), or
// another value's Key from Low to High (both included). It returns false for a value of another kind than the
// interval's.
func (i Interval) Has(d Datum) bool {
	switch {
	case d.Kind != i.Kind:
		return false
	case i.Kind == Words:
		return d.Text >= i.From && (i.To == "" || d.Text < i.To)
	}
	return d.Key >= i.Low && d.Key <= i.High
}

// Leaves calls yield with each comparison (Within) of a condition, including nested ones, in their order. Through
// the pointer yield may change the condition.
func (n *Node) Leaves(yield func(*Node)) {
	for i := range n.Nodes {
		n.Nodes[i].Leaves(yield)
	}
	if n.Op == Within {
		yield(n)
	}
}
