package fields

import (
	"encoding/binary"
	"errors"
	"sort"

	"example.org/conclave/internal/conditions"
)

// Mark sets the bits of the passages that have a value of a field in an interval: bit o%64 of word o/64 for passage o.
// It sets none, without an error, for a field that no passage has.
func (x *Index) Mark(field string, in conditions.Interval, bits []uint64) error {
	c, ok, err := x.find(field, in.Kind)
	if err != nil || !ok {
		return err
	}
	from, to, err := c.within(in)
	if err != nil || from >= to {
		return err
	}
	return c.mark(from, to, bits)
}

// MarkAll sets the bits of the passages that have the field, with whatever value: bit o%64 of word o/64 for passage
// o. It sets none, without an error, for a field that no passage has.
func (x *Index) MarkAll(field string, bits []uint64) error {
	for _, kind := range conditions.Kinds() {
		c, ok, err := x.find(field, kind)
		if err == nil && ok {
			err = c.mark(0, c.distinct, bits)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Kinds returns the kinds of values that a field has; nil if no passage has it. Words that are all dates count as dates
// only. It fails for a damaged index.
func (x *Index) Kinds(field string) (kinds []conditions.Kind, err error) {
	dates := uint32(0)
	for _, kind := range conditions.Kinds() { // words last
		c, ok, failed := x.find(field, kind)
		if failed != nil {
			return nil, failed
		}
		if kind == conditions.Dates && ok {
			dates = c.count
		}
		if ok && (kind != conditions.Words || c.count > dates) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// within returns the numbers of the first value in an interval and of the first one after it; they are equal, or from
// is greater, if there is none. It fails if the file is damaged.
func (c *column) within(in conditions.Interval) (from, to uint32, err error) {
	search := func(reached func(i uint32) (bool, error)) uint32 {
		return uint32(sort.Search(int(c.distinct), func(i int) bool {
			yes, failed := reached(uint32(i))
			err = errors.Join(err, failed)
			return yes
		}))
	}
	if in.Kind == conditions.Words {
		notBefore := func(word string) uint32 {
			return search(func(i uint32) (bool, error) {
				w, err := c.word(i)
				return string(w) >= word, err
			})
		}
		from = notBefore(in.From)
		to = c.distinct
		if in.To != "" {
			to = notBefore(in.To)
		}
		return from, to, err
	}
	if in.Low > in.High {
		return 0, 0, nil
	}
	from = search(func(i uint32) (bool, error) {
		key, err := c.key(i)
		return key >= in.Low, err
	})
	to = search(func(i uint32) (bool, error) {
		key, err := c.key(i)
		return key > in.High, err
	})
	return from, to, err
}

// mark sets the bits of the passages of the values numbered from up to, but not including, to. It fails, and sets no
// impossible bit, if a passage is beyond the last.
func (c *column) mark(from, to uint32, bits []uint64) error {
	ordinals, err := c.ordinals(from, to)
	if err != nil {
		return err
	}
	for ; len(ordinals) >= 4; ordinals = ordinals[4:] {
		o := binary.LittleEndian.Uint32(ordinals)
		if o >= c.index.passages {
			return c.index.Damaged("the field %q has a passage beyond the last", c.field)
		}
		bits[o/64] |= 1 << (o % 64)
	}
	return nil
}

// Check reads the whole file and returns an error if a checksum is wrong, values are not in order or a passage is
// beyond the last.
func (x *Index) Check() error {
	if _, err := x.bytes(headerBytes, x.body); err != nil {
		return err
	}
	bits := make([]uint64, (uint64(x.passages)+63)/64)
	for i := range int(x.columns) {
		c, err := x.column(i)
		if err != nil {
			return err
		}
		var before []byte
		last := uint64(0)
		for v := range c.distinct {
			wrong := false
			if c.kind == conditions.Words {
				word, err := c.word(v)
				if err != nil {
					return err
				}
				wrong = v > 0 && string(before) >= string(word)
				before = word
			} else {
				key, err := c.key(v)
				if err != nil {
					return err
				}
				wrong = v > 0 && last >= key
				last = key
			}
			if wrong {
				return x.Damaged("the values of the field %q are out of order", c.field)
			}
			if err := c.mark(v, v+1, bits); err != nil {
				return err
			}
		}
	}
	return nil
}
