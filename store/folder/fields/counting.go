package fields

import (
	"encoding/binary"

	"example.org/conclave/internal/conditions"
)

// Count is a value of a field, and how many of some passages have it.
type Count struct {
	Kind  conditions.Kind
	Key   uint64 // as conditions.Datum has it
	Text  string
	Count int
}

// Counts calls yield with each value of a field that a passage of among has, and the number of these passages: words
// first, then numbers, then booleans, each in ascending order. among has a bit for each passage; nil stands for all. Of
// a passage with words in the field, only the words count: a number or boolean that was written as text is not counted
// a second time as a number or boolean. Dates count as the words they are written in. It fails for a damaged index.
func (x *Index) Counts(field string, among []uint64, yield func(Count)) error {
	worded := make([]uint64, (uint64(x.passages)+63)/64)
	for _, kind := range []conditions.Kind{conditions.Words, conditions.Numbers, conditions.Bools} {
		c, ok, err := x.find(field, kind)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for v := range c.distinct {
			ordinals, err := c.ordinals(v, v+1)
			if err != nil {
				return err
			}
			n := 0
			for ; len(ordinals) >= 4; ordinals = ordinals[4:] {
				o := binary.LittleEndian.Uint32(ordinals)
				if o >= x.passages {
					return x.Damaged("the field %q has a passage beyond the last", field)
				}
				word := o / 64
				bit := uint64(1) << (o % 64)
				if kind == conditions.Words {
					worded[word] |= bit
				} else if worded[word]&bit != 0 {
					continue
				}
				if among == nil || among[word]&bit != 0 {
					n++
				}
			}
			if n == 0 {
				continue
			}
			count := Count{Kind: kind, Count: n}
			if kind == conditions.Words {
				text, err := c.word(v)
				if err != nil {
					return err
				}
				count.Text = string(text)
			} else {
				count.Key, err = c.key(v)
				if err != nil {
					return err
				}
			}
			yield(count)
		}
	}
	return nil
}
