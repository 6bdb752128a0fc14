package bm25

// interleaver puts the postings that several merged segments have of one term in
// the order of their new numbers.
type interleaver struct{ heads []head }

// head is the next posting of a segment.
type head struct {
	passage, tf uint32
	source      *indexSource
}

// visit calls yield with the postings of the term or phrase that all sources stand at, in the order of the passages'
// new numbers. Several sources must be *indexSource. It fails if a source is damaged; yield may have been called by
// then.
func (x *interleaver) visit(from []termIterator, yield func(passage, tf uint32)) error {
	if len(from) == 1 {
		return from[0].postings(yield)
	}
	heads := x.heads[:0]
	for _, s := range from {
		h := head{source: s.(*indexSource)}
		var err error
		h.passage, h.tf, err = h.source.pull()
		if err != nil {
			return err
		}
		if h.passage != gone {
			heads = append(heads, h)
		}
	}
	x.heads = heads
	for len(heads) > 0 {
		// A handful of segments: looking at each is as fast as a heap. Runs of one
		// segment are common, so it goes on up to where the next one begins.
		least, second := 0, gone
		for i := 1; i < len(heads); i++ {
			if heads[i].passage < heads[least].passage {
				second = heads[least].passage
				least = i
			} else {
				second = min(second, heads[i].passage)
			}
		}
		h := &heads[least]
		for h.passage < second {
			yield(h.passage, h.tf)
			var err error
			h.passage, h.tf, err = h.source.pull()
			if err != nil {
				return err
			}
		}
		if h.passage == gone {
			*h = heads[len(heads)-1]
			heads = heads[:len(heads)-1]
		}
	}
	return nil
}
