package wal

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"example.org/conclave/internal/disk"
)

// A file of the log is sectors, each written once and in order:
//
//	content   ContentBytes; a record begins a sector, and zeros fill its last one
//	checksum  CRC-32C of the file's identity, the sector's number, whether it is
//	          a record's first, and the content
//
// No sector is written twice, and no two records share one, so a write cannot damage
// changes that were acknowledged before. A wrong sector also shows the cause (see
// sectorState): disks write sectors whole, so a power cut leaves either the new sector
// or the old bytes, zeros or those of another file. It never leaves a sector that is
// right but for one byte; that is damage.
const (
	SectorBytes  = 512
	ContentBytes = SectorBytes - 4
)

// LogIdentity identifies a file of a log: the collection, and the number of the first
// change. It is at the file's beginning, and every checksum covers it.
type LogIdentity struct {
	Disk  disk.Disk
	Path  string
	id    string // of the collection
	first uint64 // the number of the first change
	seed  uint32
}

// newLogIdentity returns the identity of the file at path, of the collection id, whose first change has number first.
// It does not open the file.
func newLogIdentity(d disk.Disk, path, id string, first uint64) *LogIdentity {
	seed := crc32.Checksum(binary.LittleEndian.AppendUint64([]byte(id), first), castagnoliTable)
	return &LogIdentity{Disk: d, Path: path, id: id, first: first, seed: seed}
}

// Sum returns the checksum of sector number with this content. begins says that it is the first one of a record. Sector
// 0, the head, has the same checksum in every file, so that a misplaced file can still be named.
func (f *LogIdentity) Sum(number int, begins bool, content []byte) uint32 {
	if number == 0 {
		return crc32.Checksum(content, castagnoliTable)
	}
	place := uint64(number) << 1
	if begins {
		place |= 1
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], place)
	return crc32.Update(crc32.Update(f.seed, castagnoliTable, b[:]), castagnoliTable, content)
}

// appendSectors appends a record to out and returns the result: as sectors numbered from number on, each with its
// checksum, the last one filled up with zeros.
func (f *LogIdentity) appendSectors(out []byte, number int, record []byte) []byte {
	out = slices.Grow(out, sectorsOf(len(record))*SectorBytes)
	for begins := true; len(record) > 0; begins = false {
		n := min(len(record), ContentBytes)
		at := len(out)
		out = append(out, record[:n]...)
		out = append(out, make([]byte, ContentBytes-n)...)
		out = binary.LittleEndian.AppendUint32(out, f.Sum(number, begins, out[at:]))
		record = record[n:]
		number++
	}
	return out
}

// sectorsOf returns how many sectors a record of n bytes takes.
func sectorsOf(n int) int { return (n + ContentBytes - 1) / ContentBytes }

// sectorState is the state of a sector of a file, as its checksum shows it.
type sectorState int

const (
	firstSector sectorState = iota // as it was written, the first of a record
	laterSector                    // as it was written, another one
	unwritten                      // zeros, or beyond the file's end
	foreign                        // something else: what was on the disk before
	wrongByte                      // right but for one byte, which no write that was cut leaves
)

// sectorAt returns the state of the sector with this number in a file that has these data, by its checksum. If the
// state is wrongByte, wrong is the offset of that byte in the file. A sector beyond the end of data is unwritten.
func (f *LogIdentity) sectorAt(data []byte, number int) (state sectorState, wrong int) {
	at := number * SectorBytes
	if len(data) < at+SectorBytes {
		return unwritten, 0
	}
	sector := data[at : at+SectorBytes]
	content, have := SplitSector(sector)
	first, later := f.Sum(number, true, content), f.Sum(number, false, content)
	switch {
	case have == first:
		return firstSector, 0
	case have == later:
		return laterSector, 0
	case !slices.ContainsFunc(sector, func(b byte) bool { return b != 0 }):
		return unwritten, 0
	}
	for _, want := range []uint32{first, later} {
		if wrong, ok := byteAtFault(have ^ want); ok {
			return wrongByte, at + wrong
		}
	}
	return foreign, 0
}

// SplitSector returns a sector's content, which shares the sector's memory, and the checksum that it has. It panics
// if the sector is shorter than SectorBytes.
func SplitSector(sector []byte) (content []byte, sum uint32) {
	return sector[:ContentBytes], binary.LittleEndian.Uint32(sector[ContentBytes:])
}

// byteAtFault returns the offset in a sector of the one byte that explains why its checksum is wrong; ok is false if no
// single byte does. difference is the stored checksum XOR that of the content. A checksum is linear: the difference
// depends on where the byte is and how it differs, not on the rest. About one sector of arbitrary bytes in 8,000 looks
// so too.
func byteAtFault(difference uint32) (at int, ok bool) {
	for at := range 4 {
		if difference&^(0xff<<(8*at)) == 0 {
			return ContentBytes + at, true
		}
	}
	var byTop [256]uint32 // which entry of the table has a highest byte
	for b, effect := range castagnoliTable {
		byTop[effect>>24] = uint32(b)
	}
	for at := ContentBytes - 1; at >= 0; at-- {
		b := byTop[difference>>24]
		effect := castagnoliTable[b] // of a byte b after which no byte comes
		if difference == effect {
			return at, true
		}
		difference = (difference^effect)<<8 | b // as it was one byte earlier
	}
	return 0, false
}

// castagnoliTable is the table for the checksums of sectors.
var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)
