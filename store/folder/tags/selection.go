package tags

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Select returns the passages that have every tag of all and at least one of any, as bit o%64 of word o/64 for passage
// o, and their number. An empty list sets no condition; a tag that no passage has selects none. It fails if the file is
// damaged.
func (x *Index) Select(all, any []string) (words []uint64, count int, err error) {
	words = make([]uint64, (uint64(x.passages)+63)/64)
	if len(any) > 0 {
		for _, tag := range any {
			if err := x.markTag(tag, words); err != nil {
				return nil, 0, err
			}
		}
	} else {
		fill(words, 0, x.passages)
	}
	records := make([]record, 0, len(all))
	for _, tag := range all {
		r, ok, err := x.find(tag)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			clear(words)
			return words, 0, nil
		}
		records = append(records, r)
	}
	// The rarest first: when nothing is left, the others need not be read.
	slices.SortFunc(records, func(a, b record) int { return int(int64(a.count) - int64(b.count)) })
	having := make([]uint64, len(words))
	for _, r := range records {
		clear(having)
		if err := x.mark(r, having); err != nil {
			return nil, 0, err
		}
		left := uint64(0)
		for i := range words {
			words[i] &= having[i]
			left |= words[i]
		}
		if left == 0 {
			break
		}
	}
	for _, w := range words {
		count += bits.OnesCount64(w)
	}
	return words, count, nil
}

// markTag sets the bits of the passages that have a tag. It changes nothing if no passage has it. It fails if the
// file is damaged.
func (x *Index) markTag(tag string, words []uint64) error {
	r, ok, err := x.find(tag)
	if err != nil || !ok {
		return err
	}
	return x.mark(r, words)
}

// mark sets the bits of a tag's passages. It fails if the postings are damaged: it never sets a bit beyond the last
// passage, and sets as many as the record says, or returns an error.
func (x *Index) mark(r record, words []uint64) error {
	b, err := x.Bytes(x.postingsAt()+r.postings, x.postingsAt()+r.postingsEnd)
	if err != nil {
		return err
	}
	if r.kind == bitsKind {
		return x.markBits(r, b, words)
	}
	next, found := uint64(0), uint64(0)
	for len(b) > 0 {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return x.Damaged("a number is cut off")
		}
		b = b[n:]
		length := uint64(1)
		if r.kind == runsKind {
			length, n = binary.Uvarint(b)
			if n <= 0 {
				return x.Damaged("a number is cut off")
			}
			b = b[n:]
			length++
		}
		passages := uint64(x.passages)
		if gap > passages || length == 0 || length > passages || next+gap+length > passages {
			return x.Damaged("a tag has a passage beyond the last")
		}
		fill(words, uint32(next+gap), uint32(next+gap+length))
		next += gap + length
		found += length
	}
	if found != uint64(r.count) {
		return x.Damaged("a tag has %d passages, and %d are claimed", found, r.count)
	}
	return nil
}

// markBits sets the bits of a tag's passages from postings b of kind bitsKind. It fails if b has a bit beyond the last
// passage or not as many as the record says.
func (x *Index) markBits(r record, b []byte, words []uint64) error {
	n := uint64(x.passages)
	if uint64(len(b)) != (n+7)/8 || n%8 != 0 && b[len(b)-1]>>(n%8) != 0 {
		return x.Damaged("a tag has a passage beyond the last")
	}
	found := 0
	for i, set := range b {
		found += bits.OnesCount8(set)
		words[i/8] |= uint64(set) << (i % 8 * 8)
	}
	if found != int(r.count) {
		return x.Damaged("a tag has %d passages, and %d are claimed", found, r.count)
	}
	return nil
}

// fill sets the bits from passage from up to, but not including, passage to.
func fill(words []uint64, from, to uint32) {
	for from < to {
		word := from / 64
		low := from % 64
		n := min(64-low, to-from)
		words[word] |= (^uint64(0) >> (64 - n)) << low
		from += n
	}
}
