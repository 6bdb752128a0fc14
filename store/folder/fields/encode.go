package fields

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
)

// encode writes what stands after the header of the file to out, and returns the header. It fails if a field has too
// many values, or out does. More passages may be added afterwards.
func (b *Builder) encode(out io.Writer) (h header, err error) {
	le := binary.LittleEndian
	order := slices.SortedFunc(maps.Keys(b.lists), func(x, y name) int {
		return cmp.Or(cmp.Compare(x.field, y.field), cmp.Compare(x.kind, y.kind))
	})
	nameAt := uint64(headerBytes + recordBytes*len(order))
	at := nameAt
	for _, n := range order {
		at += uint64(len(n.field))
	}
	var head []byte // the records, then the names
	columns := make([]sortedColumn, len(order))
	for i, n := range order {
		c := b.lists[n].sort()
		if len(c.pairs) > math.MaxUint32 {
			return h, fmt.Errorf(
				"the field %q has %d values: at most %d are held", n.field, len(c.pairs), uint32(math.MaxUint32),
			)
		}
		columns[i] = c
		head = le.AppendUint64(head, nameAt)
		head = le.AppendUint64(head, at)
		head = le.AppendUint64(head, c.texts)
		head = le.AppendUint32(head, uint32(len(n.field)))
		head = le.AppendUint32(head, uint32(n.kind))
		head = le.AppendUint32(head, uint32(c.distinct))
		head = le.AppendUint32(head, uint32(len(c.pairs)))
		nameAt += uint64(len(n.field))
		at += c.size()
	}
	for _, n := range order {
		head = append(head, n.field...)
	}
	summer := disk.NewChunkSums(chunkBits)
	body := io.MultiWriter(summer, out)
	if _, err := body.Write(head); err != nil {
		return h, err
	}
	for i := range columns {
		if err := columns[i].write(body); err != nil {
			return h, err
		}
	}
	sums := summer.Sums()
	_, err = out.Write(sums)
	h = header{passages: b.passages, columns: uint32(len(order)), body: at - headerBytes, sums: xxh3.Hash(sums)}
	return h, err
}

// sortedColumn is the values of one column in the order of the file.
type sortedColumn struct {
	pairs    []pair   // each pair of a value and a passage once, sorted
	words    []string // the values of words, sorted, of which the keys are places; nil: the keys are values
	distinct int      // values
	texts    uint64   // bytes of words
}

// sort sorts the values in place, drops repeated pairs, and returns the column, which is valid until the next Add.
func (l *valueList) sort() (c sortedColumn) {
	c.pairs = l.pairs.Values()
	if l.words != nil {
		c.words = slices.Sorted(maps.Keys(l.words))
		place := make([]uint64, len(c.words))
		for i, w := range c.words {
			place[l.words[w]] = uint64(i)
			c.texts += uint64(len(w))
		}
		for i := range c.pairs {
			c.pairs[i].key = place[c.pairs[i].key]
		}
		for i, w := range c.words { // so that the builder may be encoded again
			l.words[w] = uint64(i)
		}
	}
	slices.SortFunc(c.pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.ordinal, y.ordinal))
	})
	c.pairs = slices.Compact(c.pairs)
	l.pairs.Truncate(len(c.pairs))
	for i, p := range c.pairs {
		if i == 0 || p.key != c.pairs[i-1].key {
			c.distinct++
		}
	}
	return c
}

// size returns how many bytes write writes.
func (c *sortedColumn) size() uint64 { return uint64(12*c.distinct+4+4*len(c.pairs)) + c.texts }

// write writes the column: its keys, where the passages of each begin, the passages, and the texts of words. It fails
// if out does.
func (c *sortedColumn) write(out io.Writer) error {
	le := binary.LittleEndian
	w := partWriter{out: out}
	text := uint64(0)
	for i, p := range c.pairs {
		if i > 0 && p.key == c.pairs[i-1].key {
			continue
		}
		key := p.key
		if c.words != nil {
			key = text
			text += uint64(len(c.words[p.key]))
		}
		w.add(le.AppendUint64(w.part, key))
	}
	for i, p := range c.pairs {
		if i == 0 || p.key != c.pairs[i-1].key {
			w.add(le.AppendUint32(w.part, uint32(i)))
		}
	}
	w.add(le.AppendUint32(w.part, uint32(len(c.pairs))))
	for _, p := range c.pairs {
		w.add(le.AppendUint32(w.part, p.ordinal))
	}
	for _, word := range c.words {
		w.add(append(w.part, word...))
	}
	w.flush()
	return w.err
}

// partWriter writes bytes in parts of some size, and keeps the first error of out.
type partWriter struct {
	out  io.Writer
	part []byte // what is not written yet
	err  error
}

// add takes part, which is w.part with more bytes, and writes it once it is large.
func (w *partWriter) add(part []byte) {
	w.part = part
	if len(part) >= 1<<16 {
		w.flush()
	}
}

// flush writes what is not written yet.
func (w *partWriter) flush() {
	if w.err == nil {
		_, w.err = w.out.Write(w.part)
	}
	w.part = w.part[:0]
}
