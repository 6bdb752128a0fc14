package tags

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
)

// A Builder collects the tags of passages. It keeps about a hundred bytes for
// each tag and one or two for each passage of a tag. It is not safe for
// concurrent use.
type Builder struct {
	passages uint32
	lists    map[string]*passageList
}

// passageList is the passages of one tag.
type passageList struct {
	count uint32
	next  uint32 // the least passage that may be added
	gaps  []byte
}

// NewBuilder returns a builder without passages.
func NewBuilder() *Builder { return &Builder{lists: map[string]*passageList{}} }

// Add adds the tags of the next passage. A repeated tag counts once. It fails if there are too many passages or tags.
func (b *Builder) Add(tags []string) error {
	if b.passages == math.MaxUint32 {
		return fmt.Errorf("an index of tags holds %d passages at most", uint32(math.MaxUint32))
	}
	for _, tag := range tags {
		l := b.lists[tag]
		if l == nil {
			if uint64(len(b.lists)) == math.MaxUint32-1 {
				return fmt.Errorf("an index of tags holds %d tags at most", len(b.lists))
			}
			l = &passageList{}
			b.lists[tag] = l
		}
		if l.next > b.passages {
			continue // the passage has named it before
		}
		l.gaps = binary.AppendUvarint(l.gaps, uint64(b.passages-l.next))
		l.count, l.next = l.count+1, b.passages+1
	}
	b.passages++
	return nil
}

// encode returns the whole content of the index's file. More passages may be added afterwards.
func (b *Builder) encode() []byte {
	le := binary.LittleEndian
	h := header{passages: b.passages, tags: uint32(len(b.lists))}
	var records, texts, postings []byte
	for _, tag := range slices.Sorted(maps.Keys(b.lists)) {
		l := b.lists[tag]
		kind, encoded := l.encode(b.passages)
		records = le.AppendUint64(records, uint64(len(texts)))
		records = le.AppendUint64(records, uint64(len(postings)))
		records = le.AppendUint32(records, l.count)
		records = le.AppendUint32(records, kind)
		texts = append(texts, tag...)
		postings = append(postings, encoded...)
	}
	records = le.AppendUint64(records, uint64(len(texts)))
	records = le.AppendUint64(records, uint64(len(postings)))
	records = le.AppendUint64(records, 0)
	h.texts, h.postings = uint64(len(texts)), uint64(len(postings))
	body := slices.Concat(records, texts, postings)
	summer := disk.NewChunkSums(chunkBits)
	_, _ = summer.Write(body) // never fails
	sums := summer.Sums()
	h.sums = xxh3.Hash(sums)
	return slices.Concat(h.encode(), body, sums)
}

// encode returns the tag's passages in the shortest kind of postings, of kinds of equal length the first.
func (l *passageList) encode(passages uint32) (kind uint32, encoded []byte) {
	runs := l.runs()
	kind = gapsKind
	encoded = l.gaps
	if len(runs) < len(encoded) {
		kind, encoded = runsKind, runs
	}
	if n := (int(passages) + 7) / 8; n < len(encoded) {
		kind = bitsKind
		encoded = make([]byte, n)
		at := uint32(0)
		for rest := l.gaps; len(rest) > 0; at++ {
			gap, n := binary.Uvarint(rest)
			rest = rest[n:]
			at += uint32(gap)
			encoded[at/8] |= 1 << (at % 8)
		}
	}
	return kind, encoded
}

// runs returns the tag's passages as postings of kind runsKind: for each run of adjacent passages the gap before it
// and its length.
func (l *passageList) runs() []byte {
	var out []byte
	gap, length := uint64(0), uint64(0)
	for i, rest := 0, l.gaps; len(rest) > 0; i++ {
		g, n := binary.Uvarint(rest)
		rest = rest[n:]
		if i > 0 && g > 0 {
			out = binary.AppendUvarint(binary.AppendUvarint(out, gap), length-1)
		}
		if i == 0 || g > 0 {
			gap, length = g, 0
		}
		length++
	}
	if length > 0 {
		out = binary.AppendUvarint(binary.AppendUvarint(out, gap), length-1)
	}
	return out
}

// Write creates the file at path and writes the index to it, without syncing it. It fails with fs.ErrExist if there is
// a file, which stays as it is. If writing fails, it removes the file.
func (b *Builder) Write(d disk.Disk, path string) (err error) {
	file, err := d.CreateFile(path)
	if err != nil {
		return fmt.Errorf("writing an index of tags: %w", err)
	}
	out := bufio.NewWriter(file)
	_, _ = out.Write(b.encode()) // bufio keeps the first error for Flush
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		_ = d.Remove(path) // the first error is the one to tell
		return fmt.Errorf("writing the index of tags %s: %w", path, err)
	}
	return nil
}

// Index returns the index as one in memory, without a file. It fails only if the builder's bytes are not an index.
func (b *Builder) Index() (*Index, error) {
	return newIndex("in memory", b.encode())
}
