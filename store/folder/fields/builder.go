package fields

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
)

// A Builder collects the values of passages: 16 bytes for each, and about a hundred for each
// distinct word. It is not safe for concurrent use.
type Builder struct {
	passages uint32
	lists    map[name]*valueList
}

// name is the key of a column: a field and a kind of values.
type name struct {
	field string
	kind  conditions.Kind
}

// valueList is the values of one column.
type valueList struct {
	pairs []pair
	words map[string]uint64 // their numbers, which pairs have as keys
}

type pair struct {
	key     uint64
	ordinal uint32
}

// NewBuilder returns a builder without passages.
func NewBuilder() *Builder { return &Builder{lists: map[name]*valueList{}} }

// Add adds the metadata of the next passage. It fails if there are too many passages.
func (b *Builder) Add(metadata map[string]any) error {
	if b.passages == math.MaxUint32 {
		return fmt.Errorf("an index of fields holds %d passages at most", uint32(math.MaxUint32))
	}
	conditions.Each(metadata, func(d conditions.Datum) {
		at := name{d.Field, d.Kind}
		l := b.lists[at]
		if l == nil {
			l = &valueList{}
			b.lists[at] = l
		}
		key := d.Key
		if d.Kind == conditions.Words {
			number, known := l.words[d.Text]
			if !known {
				if l.words == nil {
					l.words = map[string]uint64{}
				}
				number = uint64(len(l.words))
				l.words[d.Text] = number
			}
			key = number
		}
		l.pairs = append(l.pairs, pair{key, b.passages})
	})
	b.passages++
	return nil
}

// encode returns the bytes of the file. It fails if a field has too many values. More passages may be added afterwards.
func (b *Builder) encode() ([]byte, error) {
	le := binary.LittleEndian
	order := slices.SortedFunc(maps.Keys(b.lists), func(x, y name) int {
		return cmp.Or(cmp.Compare(x.field, y.field), cmp.Compare(x.kind, y.kind))
	})
	var records, names, columns []byte
	at := uint64(headerBytes + recordBytes*len(order))
	for _, n := range order {
		at += uint64(len(n.field))
	}
	nameAt := uint64(headerBytes + recordBytes*len(order))
	for _, n := range order {
		column, texts, distinct, count := b.lists[n].encode()
		if count > math.MaxUint32 {
			return nil, fmt.Errorf("the field %q has %d values: at most %d are held", n.field, count, uint32(math.MaxUint32))
		}
		records = le.AppendUint64(records, nameAt)
		records = le.AppendUint64(records, at)
		records = le.AppendUint64(records, texts)
		records = le.AppendUint32(records, uint32(len(n.field)))
		records = le.AppendUint32(records, uint32(n.kind))
		records = le.AppendUint32(records, uint32(distinct))
		records = le.AppendUint32(records, uint32(count))
		names = append(names, n.field...)
		columns = append(columns, column...)
		nameAt += uint64(len(n.field))
		at += uint64(len(column))
	}
	body := slices.Concat(records, names, columns)
	summer := disk.NewChunkSums(chunkBits)
	_, _ = summer.Write(body) // never fails
	sums := summer.Sums()
	h := header{passages: b.passages, columns: uint32(len(order)), body: uint64(len(body)), sums: xxh3.Hash(sums)}
	return slices.Concat(h.encode(), body, sums), nil
}

// encode returns the column's bytes, how many of these are texts, and the numbers of distinct values and of pairs of
// a value and a passage. It sorts the values in place and drops repeated pairs.
func (l *valueList) encode() (column []byte, texts uint64, distinct, count int) {
	le := binary.LittleEndian
	var words []string
	if l.words != nil {
		words = slices.Sorted(maps.Keys(l.words))
		place := make([]uint64, len(words))
		for i, w := range words {
			place[l.words[w]] = uint64(i)
		}
		for i := range l.pairs {
			l.pairs[i].key = place[l.pairs[i].key]
		}
		for i, w := range words { // so that the builder may be encoded again
			l.words[w] = uint64(i)
		}
	}
	slices.SortFunc(l.pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.ordinal, y.ordinal))
	})
	l.pairs = slices.Compact(l.pairs)
	var keys, starts, ordinals []byte
	for i, p := range l.pairs {
		if i == 0 || p.key != l.pairs[i-1].key {
			keys = le.AppendUint64(keys, p.key)
			starts = le.AppendUint32(starts, uint32(i))
			distinct++
		}
		ordinals = le.AppendUint32(ordinals, p.ordinal)
	}
	starts = le.AppendUint32(starts, uint32(len(l.pairs)))
	if words == nil {
		return slices.Concat(keys, starts, ordinals), 0, distinct, len(l.pairs)
	}
	keys = keys[:0]
	var text []byte
	for _, w := range words {
		keys = le.AppendUint64(keys, uint64(len(text)))
		text = append(text, w...)
	}
	return slices.Concat(keys, starts, ordinals, text), uint64(len(text)), distinct, len(l.pairs)
}

// Write writes the index to a new file, without syncing it. If it fails, it leaves no file.
func (b *Builder) Write(d disk.Disk, path string) (err error) {
	data, err := b.encode()
	if err != nil {
		return err
	}
	file, err := d.CreateFile(path)
	if err != nil {
		return fmt.Errorf("writing an index of fields: %w", err)
	}
	out := bufio.NewWriter(file)
	_, _ = out.Write(data) // bufio keeps the first error for Flush
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		_ = d.Remove(path) // the first error is the one to tell
		return fmt.Errorf("writing the index of fields %s: %w", path, err)
	}
	return nil
}

// Index returns the index of the passages added so far in memory, without a file. It fails if a field has too many
// values.
func (b *Builder) Index() (*Index, error) {
	data, err := b.encode()
	if err != nil {
		return nil, err
	}
	return newIndex("in memory", data)
}
