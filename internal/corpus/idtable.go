package corpus

import "iter"

// idTable is a hash table from the key of an id to the ordinals that have it,
// with open addressing: 4 bytes a slot, which is what lets a build of twenty
// million passages find duplicate ids in 200 MB. The keys themselves are the
// caller's array.
type idTable struct {
	slots []uint32 // ordinal+1; 0 is free
	n     int
}

// slotOf returns the index of the slot at which the search for a key begins. Keys are the upper bits of a hash and need
// no further mixing; the number of slots is a power of two.
func (t *idTable) slotOf(key uint32) int { return int(key) & (len(t.slots) - 1) }

// add adds the next ordinal, which must be the number of those added before; keys has the keys of all ordinals up
// to it. It doubles the table if that is three quarters full.
func (t *idTable) add(ordinal uint32, keys []uint32) {
	if 4*(t.n+1) > 3*len(t.slots) {
		old := t.n
		t.slots = make([]uint32, max(1024, 2*len(t.slots)))
		for o := range old {
			t.put(uint32(o), keys[o])
		}
	}
	t.put(ordinal, keys[ordinal])
	t.n++
}

// put stores an ordinal in the first free slot of its key. The table must have one.
func (t *idTable) put(ordinal, key uint32) {
	i := t.slotOf(key)
	for t.slots[i] != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = ordinal + 1
}

// candidates yields the ordinals whose key is key, in the order in which they were added; keys has the keys of all.
// Their ids may differ: the caller compares these.
func (t *idTable) candidates(key uint32, keys []uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if len(t.slots) == 0 {
			return
		}
		for i := t.slotOf(key); t.slots[i] != 0; i = (i + 1) & (len(t.slots) - 1) {
			if o := t.slots[i] - 1; keys[o] == key && !yield(o) {
				return
			}
		}
	}
}
