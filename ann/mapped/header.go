// Package mapped is the container of the files of vectors and graphs: one page
// of header, then sections that are read in place through a memory map.
//
// A file is written to a temporary name, synced and renamed, so that a name is
// either absent or whole. Opening reads the header page and nothing else: it
// verifies the header's checksum, the kind and format version, and that every
// section lies inside a file of exactly the expected size, so a torn file is
// refused. The sections' own checksums are compared by Verify, once, which who
// reads a section calls first, and by Check, again each time.
package mapped

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// The header page, little-endian:
//
//	0     magic, 16 bytes
//	16    kind, 16 bytes, padded with zeros
//	32    format version of the kind, number of parameters, number of sections: uint64 each
//	56    parameters: uint64 each
//	312   sections: offset, length, CRC-32C, each a uint64
//	4088  CRC-32C of the 4,088 bytes before, as a uint64
const (
	pageSize      = 4096
	magic         = "conclave vectors"
	kindAt        = 16
	countsAt      = 32
	parametersAt  = 56
	maxParameters = 32
	sectionsAt    = parametersAt + 8*maxParameters
	maxSections   = 32
	sumAt         = pageSize - 8
)

// castagnoli is the polynomial that processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type section struct {
	offset, length uint64
	sum            uint32
}

type header struct {
	kind       string
	version    uint64
	parameters []uint64
	sections   []section
}

// encode returns the header page with its checksum. There must not be more parameters and sections than fit.
func (h *header) encode() []byte {
	page := make([]byte, pageSize)
	copy(page, magic)
	copy(page[kindAt:countsAt], h.kind)
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(page[at:], v) }
	put(countsAt, h.version)
	put(countsAt+8, uint64(len(h.parameters)))
	put(countsAt+16, uint64(len(h.sections)))
	for i, p := range h.parameters {
		put(parametersAt+8*i, p)
	}
	for i, s := range h.sections {
		put(sectionsAt+24*i, s.offset)
		put(sectionsAt+24*i+8, s.length)
		put(sectionsAt+24*i+16, uint64(s.sum))
	}
	put(sumAt, uint64(crc32.Checksum(page[:sumAt], castagnoli)))
	return page
}

// decodeHeader returns the header in the first page of a file of size bytes. It fails if the page is damaged, says
// another kind or version, or its sections do not fill the file exactly.
func decodeHeader(page []byte, size uint64, kind string, version uint64) (*header, error) {
	if len(page) < pageSize {
		return nil, fmt.Errorf(
			"the file has %d bytes, less than its header of %d: it was cut off; rebuild it", len(page), pageSize,
		)
	}
	page = page[:pageSize]
	if string(page[:len(magic)]) != magic {
		return nil, fmt.Errorf("not a file of vectors or graphs: it begins with %q", page[:len(magic)])
	}
	get := func(at int) uint64 { return binary.LittleEndian.Uint64(page[at:]) }
	if want := uint64(crc32.Checksum(page[:sumAt], castagnoli)); get(sumAt) != want {
		return nil, fmt.Errorf(
			"the header's checksum is %08x, its content gives %08x: the file is damaged; rebuild it", get(sumAt), want,
		)
	}
	h := &header{version: get(countsAt)}
	name := page[kindAt:countsAt]
	if end := slices.Index(name, 0); end >= 0 {
		name = name[:end]
	}
	h.kind = string(name)
	if h.kind != kind {
		return nil, fmt.Errorf("it holds %q, not %q", h.kind, kind)
	}
	if h.version != version {
		return nil, fmt.Errorf(
			"its format is version %d of %q; this program reads version %d: rebuild the index", h.version, kind,
			version,
		)
	}
	parameters, sections := get(countsAt+8), get(countsAt+16)
	if parameters > maxParameters || sections > maxSections {
		return nil, fmt.Errorf(
			"its header counts %d parameters and %d sections; at most %d and %d are possible", parameters, sections,
			maxParameters, maxSections,
		)
	}
	for i := range int(parameters) {
		h.parameters = append(h.parameters, get(parametersAt+8*i))
	}
	end := uint64(pageSize)
	for i := range int(sections) {
		s := section{
			offset: get(sectionsAt + 24*i),
			length: get(sectionsAt + 24*i + 8),
			sum:    uint32(get(sectionsAt + 24*i + 16)),
		}
		if s.offset != alignPage(end) || s.length > size || s.offset > size-s.length {
			return nil, fmt.Errorf(
				"section %d should be %d bytes at %d of a file of %d bytes: it was cut off; rebuild it", i, s.length,
				s.offset, size,
			)
		}
		end = s.offset + s.length
		h.sections = append(h.sections, s)
	}
	if end != size {
		return nil, fmt.Errorf(
			"the file has %d bytes where its header says %d: it was cut off or added to; rebuild it", size, end,
		)
	}
	return h, nil
}

// alignPage rounds an offset up to a multiple of pageSize, where a section may begin.
func alignPage(offset uint64) uint64 { return (offset + pageSize - 1) / pageSize * pageSize }
