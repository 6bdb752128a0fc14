package fields

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
//	records     recordBytes for each column, in the order of the fields' bytes and of the kinds
//	names       the columns' fields, in order
//	columns     in order
//	checksums   8 bytes for each chunk of chunkBytes of all after the header
//
// A column of numbers, dates or booleans has its distinct values as keys, 8 bytes each, ascending;
// of words, where each begins in the texts, 8 bytes each, ascending as bytes; of long texts nothing,
// as if it had one value. Then come, 4 bytes each, where the passages of each value begin, one more
// where they end, and the ordinals of the passages, ascending for each value; and the texts of words.
//
// Opening reads the header and the checksums. Everything else is checked when it is first read, chunk
// by chunk, so that a flipped bit is an error and never another passage.
const (
	magic       = "CNCLFLDS"
	format      = 1
	headerBytes = 64
	// name, data, texts uint64; name bytes, kind, distinct, count uint32
	recordBytes = 40
	chunkBits   = 14
)

// header is the first bytes of a file.
type header struct {
	passages uint32
	columns  uint32
	body     uint64 // bytes between the header and the checksums
	sums     uint64 // checksum of the checksums
}

// sumsAt returns the offset in the file at which the checksums begin and the checked body ends.
func (h *header) sumsAt() uint64 { return headerBytes + h.body }

// size returns the length of the whole file.
func (h *header) size() uint64 { return h.sumsAt() + 8*((h.body+1<<chunkBits-1)>>chunkBits) }

// encode returns the header as headerBytes bytes, of which the last are a checksum of the others.
func (h *header) encode() []byte {
	le := binary.LittleEndian
	b := append(make([]byte, 0, headerBytes), magic...)
	b = le.AppendUint32(b, format)
	b = le.AppendUint32(b, h.passages)
	b = le.AppendUint32(b, h.columns)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint64(b, h.body)
	b = le.AppendUint64(b, h.sums)
	b = append(b, make([]byte, headerBytes-8-len(b))...)
	return le.AppendUint64(b, xxh3.Hash(b))
}

// decodeHeader returns the header of a file of this content. It fails if the header, its checksum, the file's length or
// the checksum of the checksums is wrong.
func decodeHeader(data []byte) (header, error) {
	le := binary.LittleEndian
	var h header
	if len(data) < headerBytes || string(data[:len(magic)]) != magic {
		return h, errors.New("it is no index of fields, or it was cut off")
	}
	if xxh3.Hash(data[:headerBytes-8]) != le.Uint64(data[headerBytes-8:]) {
		return h, errors.New("the checksum of its header is wrong: the file is damaged")
	}
	if v := le.Uint32(data[8:]); v != format {
		return h, fmt.Errorf("it has format %d, this program reads format %d", v, format)
	}
	h = header{
		passages: le.Uint32(data[12:]),
		columns:  le.Uint32(data[16:]),
		body:     le.Uint64(data[24:]),
		sums:     le.Uint64(data[32:]),
	}
	if h.body > uint64(len(data)) || h.size() != uint64(len(data)) ||
		uint64(h.columns) > math.MaxUint32/recordBytes || uint64(h.columns)*recordBytes > h.body {
		return h, fmt.Errorf("it has %d bytes, which its header contradicts: it was cut off or written over", len(data))
	}
	if xxh3.Hash(data[h.sumsAt():]) != h.sums {
		return h, errors.New("the checksum of its checksums is wrong: the file is damaged")
	}
	return h, nil
}
