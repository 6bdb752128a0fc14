package corpus

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The file of a store. All numbers are little-endian.
//
//	header   64 bytes, checksummed
//	records  in the order of arrival, each: length of the body, CRC-32C of the body, body
//	offsets  pages: where the record of each ordinal begins, uint64
//	table    pages: (hash of the id)<<32 | ordinal, sorted, uint64
//	fences   the first key of each page of the table, uint32; then a CRC-32C of the fences
//
// A page is 4096 bytes: 511 entries of 8 bytes, their number, and a CRC-32C
// that covers the page's own number as well.
//
// Ordinals follow the ids in byte order. Two passages with equal scores are
// ranked by ordinal inside a segment, so they come in the order of their ids,
// and a search over several segments that merges by score and id gives what
// one segment would have given. Only the offsets are sorted; the texts stay
// where they were written.
//
// Opening reads the header and the fences, 4 bytes for 511 passages. A passage
// costs one page of the offsets and its record; an id costs a binary search in
// the fences, one page of the table, and a passage. All of these are checked
// against their checksums when they are read, so that a flipped bit is an
// error and never another passage.
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
	recordBytes  = 8                   // before a record's body
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storeHeader is the first 64 bytes of a store.
type storeHeader struct {
	count   uint64
	records uint64 // where the records end
	offsets uint64 // where the section begins: the next multiple of a page
	pages   uint64 // of the offsets, and of the table
	size    uint64 // of the file
}

// newHeader returns the header of a file with count passages whose records end at byte records: where its other
// sections begin, and its size.
func newHeader(count, records uint64) storeHeader {
	h := storeHeader{count: count, records: records}
	h.offsets = (records + pageBytes - 1) / pageBytes * pageBytes
	h.pages = (count + pageEntries - 1) / pageEntries
	h.size = h.fences() + 4*h.pages + 4
	return h
}

// table returns the byte where the table of pages begins, after the offsets.
func (h *storeHeader) table() uint64 { return h.offsets + h.pages*pageBytes }

// fences returns the byte where the fences begin, after the table: the first key of every page.
func (h *storeHeader) fences() uint64 { return h.table() + h.pages*pageBytes }

// encode returns the header's bytes, with a checksum at the end.
func (h *storeHeader) encode() []byte {
	b := make([]byte, 0, headerBytes)
	b = append(b, storeMagic...)
	b = binary.LittleEndian.AppendUint32(b, storeVersion)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, v := range []uint64{h.count, h.records} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, make([]byte, headerBytes-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeHeader returns the header of a file. It fails unless all sections lie inside the file, whatever its bytes are.
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
	count, records := binary.LittleEndian.Uint64(data[16:]), binary.LittleEndian.Uint64(data[24:])
	size := uint64(len(data))
	if count >= 1<<32-1 || records < headerBytes || records > 1<<62 {
		return h, fmt.Errorf("its header contradicts itself: the file is damaged")
	}
	h = newHeader(count, records)
	if h.size != size {
		return h, fmt.Errorf("it has %d bytes, and by its header %d: it was truncated or overwritten", size, h.size)
	}
	return h, nil
}

// hashKey returns the key of an id by which the id table is sorted.
func hashKey(id string) uint32 { return SampleKey(id) }

// appendPage appends page number with these entries, at most pageEntries, to b.
func appendPage(b []byte, number uint32, entries []uint64) []byte {
	start := len(b)
	for _, entry := range entries {
		b = binary.LittleEndian.AppendUint64(b, entry)
	}
	b = append(b, make([]byte, pageBytes-8-8*len(entries))...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(entries)))
	return binary.LittleEndian.AppendUint32(b, pageSum(number, b[start:]))
}

// pageSum returns the checksum of a page, given without its last four bytes, where the checksum stands. The page's
// number is part of it, so that a page in the wrong place is found.
func pageSum(number uint32, page []byte) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], number)
	return crc32.Update(crc32.Checksum(b[:], castagnoli), castagnoli, page)
}
