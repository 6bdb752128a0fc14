package corpus

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/zeebo/xxh3"
)

// The file of a store. All numbers are little-endian.
//
//	header   64 bytes, checksummed
//	records  each: CRC-32C of (ordinal, body), body
//	offsets  count+1 uint64: where each record begins, where the last one ends
//	table    pages of 4096 bytes: the ordinals sorted by the hash of their id
//	fences   the first key of each page, uint32; then a CRC-32C of the fences
//
// Opening reads the header and the fences, 4 bytes for 511 passages. A passage
// costs one look at the offsets and one at the record; an id costs a binary
// search in the fences, one page, and the record. Every one of these is
// checked against its checksum when it is read, so that a flipped bit is an
// error and not another passage: the ordinal is part of the record's sum, so
// a wrong offset is found too.
//
// Records are not compressed. Measured on 31,720 passages of 660 bytes: zstd in
// blocks of 16 KiB makes the file 2.8 times smaller and a passage 32 times
// slower to fetch (21 µs, not 0.66), and ids are fetched for ties as well as
// for answers. The vectors of one expert weigh more than the text.
const (
	storeMagic   = "CNCLPASS"
	storeVersion = 1
	headerBytes  = 64
	pageBytes    = 4096
	pageEntries  = (pageBytes - 8) / 8 // behind them: count and CRC-32C
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storeHeader is the first 64 bytes of a store.
type storeHeader struct {
	count   uint64
	offsets uint64 // where the section begins, and the records end
	table   uint64
	pages   uint64
	size    uint64 // of the file
}

func (h *storeHeader) encode() []byte {
	b := make([]byte, 0, headerBytes)
	b = append(b, storeMagic...)
	b = binary.LittleEndian.AppendUint32(b, storeVersion)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, v := range []uint64{h.count, h.offsets, h.table, h.pages, h.size} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, make([]byte, headerBytes-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeHeader checks everything that later arithmetic relies on, so that the
// sections lie inside the file whatever the bytes are.
func decodeHeader(data []byte) (storeHeader, error) {
	var h storeHeader
	if len(data) < headerBytes {
		return h, fmt.Errorf("it has %d bytes, less than a header", len(data))
	}
	if string(data[:8]) != storeMagic {
		return h, fmt.Errorf("it does not begin like a passage store but with %q", data[:8])
	}
	if v := binary.LittleEndian.Uint32(data[8:]); v != storeVersion {
		return h, fmt.Errorf("it is of format version %d, this program reads %d", v, storeVersion)
	}
	if crc32.Checksum(data[:headerBytes-4], castagnoli) != binary.LittleEndian.Uint32(data[headerBytes-4:]) {
		return h, fmt.Errorf("the checksum of its header is wrong: the file is damaged")
	}
	for i, v := range []*uint64{&h.count, &h.offsets, &h.table, &h.pages, &h.size} {
		*v = binary.LittleEndian.Uint64(data[16+8*i:])
	}
	size := uint64(len(data))
	if h.size != size {
		return h, fmt.Errorf("it has %d bytes, its header says %d: it was cut or written over", size, h.size)
	}
	if h.count >= 1<<32-1 || h.offsets < headerBytes || h.offsets > size ||
		h.table != alignPage(h.offsets+8*(h.count+1)) ||
		h.pages != (h.count+pageEntries-1)/pageEntries ||
		size != h.table+h.pages*pageBytes+4*h.pages+4 {
		return h, fmt.Errorf("its header contradicts itself: the file is damaged")
	}
	return h, nil
}

func alignPage(n uint64) uint64 { return (n + pageBytes - 1) / pageBytes * pageBytes }

// hashKey is what the table is sorted by: the upper half of the id's hash.
func hashKey(id string) uint32 { return uint32(xxh3.HashString(id) >> 32) }

// recordSum is the checksum of a record's body at its ordinal.
func recordSum(ordinal uint32, body []byte) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], ordinal)
	return crc32.Update(crc32.Checksum(b[:], castagnoli), castagnoli, body)
}
