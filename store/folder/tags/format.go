package tags

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"
)

// The file of an index, little-endian:
//
//	header      headerBytes, with a checksum of itself and of the checksums
//	records     recordBytes for each tag, in the order of the tags' bytes, and
//	            one more that closes the last
//	texts       the tags' bytes, in order
//	postings    the tags' passages, in order
//	checksums   8 bytes for each chunk of chunkBytes of all after the header
//
// Opening reads the header and the checksums, one part in 512. Everything else
// is checked when it is first read, chunk by chunk, so that a flipped bit is an
// error and never another passage.
//
// The passages of a tag are kept in the shortest of three ways: the gaps between
// them; where each run of neighbours begins and how long it is, which is short
// for a tag that goes with a prefix of the ids, since passages are numbered in
// the order of their ids; or a bit for each passage.
const (
	magic       = "CNCLTAGS"
	format      = 1
	headerBytes = 64
	recordBytes = 24 // text uint64, postings uint64, passages uint32, kind uint32
	chunkBits   = 12
	chunkBytes  = 1 << chunkBits
)

// The kinds of postings. Numbers are varints.
const (
	gapsKind = iota // for each passage: how many lie between it and the one before
	runsKind        // for each run: how many lie between it and the one before, its length less one
	bitsKind        // bit o%8 of byte o/8 for passage o
	kinds
)

// header is the first bytes of a file.
type header struct {
	passages uint32
	tags     uint32
	texts    uint64 // bytes
	postings uint64 // bytes
	sums     uint64 // checksum of the checksums
}

// textsAt returns the offset in the file at which the tags' texts begin.
func (h *header) textsAt() uint64 { return headerBytes + recordBytes*(uint64(h.tags)+1) }

// postingsAt returns the offset at which the postings begin.
func (h *header) postingsAt() uint64 { return h.textsAt() + h.texts }

// sumsAt returns the offset at which the checksums begin and the checked body ends.
func (h *header) sumsAt() uint64 { return h.postingsAt() + h.postings }

// chunks returns the number of checksums: one for each chunkBytes after the header, and one for the rest.
func (h *header) chunks() uint64 { return (h.sumsAt() - headerBytes + chunkBytes - 1) / chunkBytes }

// size returns the length of the whole file.
func (h *header) size() uint64 { return h.sumsAt() + 8*h.chunks() }

// encode returns the header as headerBytes bytes, of which the last are a checksum of the others.
func (h *header) encode() []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, headerBytes), magic...)
	b = le.AppendUint32(b, format)
	b = le.AppendUint32(b, h.passages)
	b = le.AppendUint32(b, h.tags)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, h.texts)
	b = le.AppendUint64(b, h.postings)
	b = le.AppendUint64(b, h.sums)
	b = append(b, make([]byte, headerBytes-8-len(b))...)
	return le.AppendUint64(b, xxh3.Hash(b))
}

// decodeHeader returns the header of a file of this content. It fails if the header, its checksum, the file's length or
// the checksum of the checksums is wrong. After success all sections lie inside of data.
func decodeHeader(data []byte) (header, error) {
	le := binary.LittleEndian
	var h header
	if len(data) < headerBytes || string(data[:len(magic)]) != magic {
		return h, errors.New("it is no index of tags, or it was cut off")
	}
	if xxh3.Hash(data[:headerBytes-8]) != le.Uint64(data[headerBytes-8:]) {
		return h, errors.New("the checksum of its header is wrong: the file is damaged")
	}
	if v := le.Uint32(data[8:]); v != format {
		return h, fmt.Errorf("it has format %d, this program reads format %d", v, format)
	}
	h = header{
		passages: le.Uint32(data[12:]),
		tags:     le.Uint32(data[16:]),
		texts:    le.Uint64(data[24:]),
		postings: le.Uint64(data[32:]),
		sums:     le.Uint64(data[40:]),
	}
	if h.tags == math.MaxUint32 || h.texts > uint64(len(data)) || h.postings > uint64(len(data)) ||
		h.size() != uint64(len(data)) {
		return h, fmt.Errorf("it has %d bytes, which its header contradicts: it was cut off or written over", len(data))
	}
	if xxh3.Hash(data[h.sumsAt():]) != h.sums {
		return h, errors.New("the checksum of its checksums is wrong: the file is damaged")
	}
	return h, nil
}
