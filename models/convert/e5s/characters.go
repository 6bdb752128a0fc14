package e5s

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// charsmap returns a map of characters in SentencePiece's format (precompiled_charsmap): the model's own, which has
// single characters, and a letter with a mark behind it as the one character that NFKC makes of both. (Longer
// sequences need none: what splits texts looks up no more than five bytes.) It fails if the map is too large for
// the format.
func (m *Model) charsmap() ([]byte, error) {
	all := make(map[string]string, len(m.Characters)+1000)
	for c := range rune(unicode.MaxRune + 1) {
		apart := []rune(norm.NFKD.String(string(c)))
		from := string(apart)
		to := norm.NFKC.String(string(c))
		if len(apart) == 2 && len(from) <= 5 && unicode.Is(unicode.M, apart[1]) && from != to {
			all[from] = to
		}
	}
	for from, to := range m.Characters {
		if from != 0 {
			all[string(from)] = to
		}
	}
	keys := make([]string, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var texts []byte
	at := map[string]uint32{}
	values := make([]uint32, len(keys))
	for i, key := range keys {
		to := all[key]
		if _, ok := at[to]; !ok {
			at[to] = uint32(len(texts))
			texts = append(append(texts, to...), 0)
		}
		values[i] = at[to]
	}
	t := &trie{keys: keys, values: values, units: make([]uint32, 256), used: make([]bool, 256), bases: map[int]bool{}}
	t.used[0] = true
	if err := t.add(0, len(keys), 0, 0); err != nil {
		return nil, err
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(4*len(t.units)))
	for _, unit := range t.units {
		out = binary.LittleEndian.AppendUint32(out, unit)
	}
	return append(out, texts...), nil
}

// trie is a double array as Darts-clone has it: a node's children are at its place, xor its offset, xor their byte.
type trie struct {
	keys   []string // sorted
	values []uint32
	units  []uint32
	used   []bool
	bases  map[int]bool // of places: no two nodes may share one
	free   int          // below it everything is used
}

// The bits of a unit.
const (
	hasValue = 1 << 8  // the child 0 of the node is its value
	isValue  = 1 << 31 // the unit is a value
	wide     = 1 << 9  // the offset is in steps of 256
	offsetAt = 10
)

// add makes the nodes below the one at place in t.units, for the keys from first up to, but not including, end, which
// are equal in their first depth bytes. It fails if the array would be larger than a unit's offset can express.
func (t *trie) add(first, end, depth, place int) error {
	var labels []int
	for i := first; i < end; i++ {
		label := 0
		if depth < len(t.keys[i]) {
			label = int(t.keys[i][depth])
		}
		if len(labels) == 0 || labels[len(labels)-1] != label {
			labels = append(labels, label)
		}
	}
	base, err := t.findBase(labels, place)
	if err != nil {
		return err
	}
	offset := uint32(place ^ base)
	if offset >= 1<<21 {
		offset = offset>>8 | wide>>offsetAt
		t.units[place] |= offset<<offsetAt | wide
	} else {
		t.units[place] |= offset << offsetAt
	}
	for _, label := range labels {
		t.used[base^label] = true
		if label != 0 {
			t.units[base^label] |= uint32(label)
		}
	}
	for i := first; i < end; {
		if depth == len(t.keys[i]) {
			t.units[place] |= hasValue
			t.units[base] = isValue | t.values[i]
			i++
			continue
		}
		label := t.keys[i][depth]
		next := i
		for next < end && t.keys[next][depth] == label {
			next++
		}
		if err := t.add(i, next, depth+1, base^int(label)); err != nil {
			return err
		}
		i = next
	}
	return nil
}

// findBase returns a place such that those of all labels, base xor label, are free for children of the node at
// place, and notes it as taken; it lengthens the array where needed. labels are ascending. It fails if the array
// would be larger than a unit's offset can express.
func (t *trie) findBase(labels []int, place int) (int, error) {
	for t.free < len(t.used) && t.used[t.free] {
		t.free++
	}
	for base := max(t.free^labels[0], 1); base < 1<<21; base++ {
		for base|255 >= len(t.units) {
			t.units = append(t.units, make([]uint32, 256)...)
			t.used = append(t.used, make([]bool, 256)...)
		}
		fits := !t.bases[base] && !slices.ContainsFunc(labels, func(label int) bool { return t.used[base^label] })
		if fits && (place^base) < 1<<21 {
			t.bases[base] = true
			return base, nil
		}
	}
	return 0, fmt.Errorf("a map of %d characters is too large", len(t.keys))
}
