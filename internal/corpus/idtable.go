package corpus

import (
	"iter"

	"example.org/conclave/internal/disk"
)

// idTable is a hash table from the key of an id to the ordinals that have it,
// with open addressing: 4 bytes a slot, in scratch memory (disk.Array). The keys themselves are the
// caller's array.
type idTable struct {
	disk   disk.Disk
	folder string
	slots  *disk.Array[uint32] // ordinal+1; 0 is free; nil without ordinals
	n      int
}

// slotOf returns the index of the slot at which the search for a key begins. Keys are the upper bits of a hash and need
// no further mixing; the number of slots is a power of two.
func slotOf(key uint32, slots []uint32) int { return int(key) & (len(slots) - 1) }

// add adds the next ordinal, which must be the number of those added before; keys has the keys of all ordinals up
// to it. It doubles the table if that is three quarters full, and fails if the disk has no room for that.
func (t *idTable) add(ordinal uint32, keys []uint32) error {
	if size := len(t.slots.Values()); 4*(t.n+1) > 3*size {
		slots, err := disk.NewArray[uint32](t.disk, t.folder, max(1024, 2*size), 0)
		if err == nil {
			err = t.slots.Close()
		}
		if err != nil {
			return err
		}
		t.slots = slots
		for o := range t.n {
			put(slots.Values(), uint32(o), keys[o])
		}
	}
	put(t.slots.Values(), ordinal, keys[ordinal])
	t.n++
	return nil
}

// put stores an ordinal in the first free slot of its key. There must be one.
func put(slots []uint32, ordinal, key uint32) {
	i := slotOf(key, slots)
	for slots[i] != 0 {
		i = (i + 1) & (len(slots) - 1)
	}
	slots[i] = ordinal + 1
}

// candidates yields the ordinals whose key is key, in the order in which they were added; keys has the keys of all.
// Their ids may differ: the caller compares these.
func (t *idTable) candidates(key uint32, keys []uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		slots := t.slots.Values()
		if len(slots) == 0 {
			return
		}
		for i := slotOf(key, slots); slots[i] != 0; i = (i + 1) & (len(slots) - 1) {
			if o := slots[i] - 1; keys[o] == key && !yield(o) {
				return
			}
		}
	}
}
