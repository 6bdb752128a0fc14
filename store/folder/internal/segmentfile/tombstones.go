package segmentfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
)

// Tombstones say which passages of a segment are deleted: bit o%64 of word o/64 for ordinal o. Nil means none; passages
// beyond the last word are not deleted.
type Tombstones []uint64

// Has reports whether a passage is deleted. It is false for one beyond the last word.
func (t Tombstones) Has(o rank.Ordinal) bool {
	return int(o/64) < len(t) && t[o/64]>>(o%64)&1 != 0
}

// Count returns how many passages are deleted.
func (t Tombstones) Count() int {
	n := 0
	for _, w := range t {
		n += bits.OnesCount64(w)
	}
	return n
}

// With returns a copy with these ordinals added, for a segment of n passages. It panics for an ordinal beyond them.
func (t Tombstones) With(n int, ordinals []rank.Ordinal) Tombstones {
	out := make(Tombstones, (n+63)/64)
	copy(out, t)
	for _, o := range ordinals {
		out[o/64] |= 1 << (o % 64)
	}
	return out
}

// Without returns a copy without the passages in other.
func (t Tombstones) Without(other Tombstones) Tombstones {
	out := slices.Clone(t)
	for i := range min(len(out), len(other)) {
		out[i] &^= other[i]
	}
	return out
}

// Alive returns the live passages of a segment of n passages, as bits like those of Tombstones.
func (t Tombstones) Alive(n int) []uint64 {
	out := make([]uint64, (n+63)/64)
	for i := range out {
		out[i] = ^uint64(0)
		if i < len(t) {
			out[i] = ^t[i]
		}
	}
	if rest := n % 64; rest != 0 {
		out[len(out)-1] &= 1<<rest - 1
	}
	return out
}

// The file of tombstones, little-endian: magic, format, passages of the
// segment, how many are deleted (uint32 each), the words, and a CRC-32C of all
// before it. A file is never changed: each deletion writes a new one, an eighth
// of a byte a passage.
const (
	tombstonesMagic  = "CNCLDEAD"
	tombstonesFormat = 1
	tombstonesHeader = 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the content of a file of tombstones, without a seal, for a segment of this many passages.
func (t Tombstones) Encode(passages int) []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, tombstonesHeader+8*len(t)+4), tombstonesMagic...)
	b = le.AppendUint32(b, tombstonesFormat)
	b = le.AppendUint32(b, uint32(passages))
	b = le.AppendUint32(b, uint32(t.Count()))
	for _, w := range t {
		b = le.AppendUint64(b, w)
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// DecodeTombstones returns the tombstones in the content of a file. It fails if the content is damaged, or not of a
// segment of passages passages of which deleted are deleted.
func DecodeTombstones(b []byte, passages, deleted int) (Tombstones, error) {
	le := binary.LittleEndian
	if len(b) != tombstonesHeader+(passages+63)/64*8+4 || string(b[:8]) != tombstonesMagic {
		return nil, fmt.Errorf("it is no list of deletions among %d passages", passages)
	}
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != le.Uint32(b[len(b)-4:]) {
		return nil, errors.New("its checksum is wrong: the file is damaged")
	}
	if v := le.Uint32(b[8:]); v != tombstonesFormat {
		return nil, fmt.Errorf("it has format %d, this program reads format %d", v, tombstonesFormat)
	}
	t := make(Tombstones, (passages+63)/64)
	for i := range t {
		t[i] = le.Uint64(b[tombstonesHeader+8*i:])
	}
	beyond := passages%64 != 0 && t[len(t)-1]>>(passages%64) != 0
	if n := t.Count(); beyond || n != deleted || le.Uint32(b[12:]) != uint32(passages) || le.Uint32(b[16:]) != uint32(n) {
		return nil, fmt.Errorf(
			"it has %d deletions among %d passages, the manifest says %d among %d", n, le.Uint32(b[12:]), deleted,
			passages,
		)
	}
	return t, nil
}

// ReadTombstones reads the file of tombstones that s names, in the segment's folder. s.Tombstones must not be nil. It
// fails if the file is missing or damaged, or has other numbers of passages than s.
func ReadTombstones(d disk.Disk, folder string, s *manifest.Segment) (Tombstones, error) {
	return ReadMarks(d, folder, *s.Tombstones, s.Passages, s.Deleted)
}

// ReadMarks reads a file that lists marked of the passages of a segment, in the format of tombstones. It fails if the
// file is damaged, has other numbers, or a seal that is not that of f.
func ReadMarks(d disk.Disk, folder string, f manifest.SegmentFile, passages, marked int) (Tombstones, error) {
	path := filepath.Join(folder, f.Name)
	data, err := d.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data, err = unseal(path, data, f)
	if err != nil {
		return nil, err
	}
	t, err := DecodeTombstones(data, passages, marked)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return t, nil
}
