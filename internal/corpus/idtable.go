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

// slotOf spreads a key over the table; the length is a power of two. keys are
// the upper bits of a hash, so they need no further mixing.
func (t *idTable) slotOf(key uint32) int { return int(key) & (len(t.slots) - 1) }

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

func (t *idTable) put(ordinal, key uint32) {
	i := t.slotOf(key)
	for t.slots[i] != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = ordinal + 1
}

// candidates returns the ordinals whose key is key.
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
