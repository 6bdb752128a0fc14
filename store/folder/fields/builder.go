package fields

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
)

// A Builder collects the values of passages: 16 bytes for each, and about a hundred for each
// distinct word. It is not safe for concurrent use.
type Builder struct {
	disk     disk.Disk
	folder   string
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
	pairs *disk.Array[pair]
	words map[string]uint64 // their numbers, which pairs have as keys
}

type pair struct {
	key     uint64
	ordinal uint32
}

// NewBuilder returns a builder without passages.
func NewBuilder() *Builder { return &Builder{lists: map[name]*valueList{}} }

// SpillTo lets many values lie in scratch memory in a folder of d (disk.Array). Call it before Add, and Discard in the
// end.
func (b *Builder) SpillTo(d disk.Disk, folder string) {
	b.disk = d
	b.folder = folder
}

// Discard gives the memory back. The builder must not be used any more. It returns the errors of unmapping.
func (b *Builder) Discard() (err error) {
	for _, l := range b.lists {
		err = errors.Join(err, l.pairs.Close())
	}
	b.lists = nil
	return err
}

// listOf returns the values of a column, which it makes if there are none yet.
func (b *Builder) listOf(column name) *valueList {
	l := b.lists[column]
	if l == nil {
		l = &valueList{pairs: disk.NewList[pair](b.disk, b.folder)}
		b.lists[column] = l
	}
	return l
}

// Add adds the metadata of the next passage. It fails if there are too many passages, or the disk has no room.
func (b *Builder) Add(metadata map[string]any) (err error) {
	if b.passages == math.MaxUint32 {
		return fmt.Errorf("an index of fields holds %d passages at most", uint32(math.MaxUint32))
	}
	conditions.Each(metadata, func(d conditions.Datum) {
		l := b.listOf(name{d.Field, d.Kind})
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
		err = errors.Join(err, l.pairs.Append(pair{key, b.passages}))
	})
	b.passages++
	return err
}

// Write writes the index to a new file, without syncing it. If it fails, it leaves no file.
func (b *Builder) Write(d disk.Disk, path string) (err error) {
	file, err := d.CreateFile(path)
	if err != nil {
		return fmt.Errorf("writing an index of fields: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	_, _ = out.Write(make([]byte, headerBytes)) // bufio keeps the first error for Flush
	h, err := b.encode(out)
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = file.WriteAt(h.encode(), 0)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		_ = d.Remove(path) // the first error is the one to tell
		return fmt.Errorf("writing the index of fields %s: %w", path, err)
	}
	return nil
}

// Index returns the index of the passages added so far in memory, without a file. It fails if a field has too many
// values.
func (b *Builder) Index() (*Index, error) {
	var body bytes.Buffer
	h, err := b.encode(&body)
	if err != nil {
		return nil, err
	}
	return newIndex("in memory", append(h.encode(), body.Bytes()...))
}
