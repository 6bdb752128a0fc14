package bm25

import (
	"bytes"
	"encoding/binary"
)

// termRecord is what a segment knows of a term without reading its postings.
// The zero value is a term that does not occur.
type termRecord struct {
	id     uint32
	df     uint32
	high   uint32 // the largest rank among its postings
	first  uint32 // its first entry in the blocks section, if it has several
	blocks uint32 // how many blocks
	start  uint64 // its postings' first byte in the postings section
	end    uint64
}

// lookup finds a term.
func (x *Index) lookup(term []byte) (termRecord, error) {
	n := slotsFor(x.terms)
	slot := uint32(hashTerm(term)) & (n - 1)
	for range n {
		b, err := x.bytes(sectionSlots, 4*uint64(slot), 4)
		if err != nil {
			return termRecord{}, err
		}
		id := binary.LittleEndian.Uint32(b)
		if id == 0 {
			return termRecord{}, nil
		}
		text, err := x.termText(id - 1)
		if err != nil {
			return termRecord{}, err
		}
		if bytes.Equal(text, term) {
			return x.record(id - 1)
		}
		slot = (slot + 1) & (n - 1)
	}
	return termRecord{}, nil
}

// termText returns the bytes of a term.
func (x *Index) termText(id uint32) ([]byte, error) {
	b, err := x.bytes(sectionTerms, termSize*uint64(id), 2*termSize)
	if err != nil {
		return nil, err
	}
	from, to := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[termSize:])
	if from > to {
		return nil, x.damaged("the text of term %d ends before it begins", id)
	}
	return x.bytes(sectionTexts, uint64(from), uint64(to-from))
}

// record reads what is known of a term.
func (x *Index) record(id uint32) (termRecord, error) {
	b, err := x.bytes(sectionTerms, termSize*uint64(id), 2*termSize)
	if err != nil {
		return termRecord{}, err
	}
	le := binary.LittleEndian
	r := termRecord{
		id:    id,
		df:    le.Uint32(b[4:]),
		start: le.Uint64(b[8:]),
		end:   le.Uint64(b[termSize+8:]),
		first: le.Uint32(b[16:]),
		high:  le.Uint32(b[20:]),
	}
	if r.df == 0 || r.df > x.passages || r.start > r.end || r.end > x.sections[sectionPostings].length || uint64(r.high) >= uint64(len(x.impacts)) {
		return termRecord{}, x.damaged("the record of term %d is impossible", id)
	}
	r.blocks = (r.df + blockPostings - 1) / blockPostings
	if r.blocks > 1 && uint64(r.first)+uint64(r.blocks) > x.sections[sectionBlocks].length/blockSize {
		return termRecord{}, x.damaged("the blocks of term %d are missing", id)
	}
	return r, nil
}
