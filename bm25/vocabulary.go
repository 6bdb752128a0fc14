package bm25

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"sort"

	"example.org/conclave/bm25/forms"
)

// termRecord is the entry of a term, or of a phrase, in a segment's dictionary: how many
// passages have it, and where its postings are. The zero value is a term that does not occur.
type termRecord struct {
	id      uint64 // a term's number, or phraseID and a phrase's key
	df      uint32
	high    uint32 // the largest rank among its postings
	first   uint32 // its first entry in the blocks section, if it has several
	blocks  uint32 // how many blocks
	section int    // that its postings are in
	head    byte   // of its block, where the file does not say it; else 0
	start   uint64 // its postings' first byte in the section
	end     uint64
}

// phraseID is a bit that is set in the ids of phrases and not in those of terms.
const phraseID = 1 << 63

// String returns the number of the term, or of a phrase's terms, for error messages.
func (r termRecord) String() string {
	if r.id >= phraseID {
		return fmt.Sprintf("the phrase of terms %d and %d", uint32(r.id>>32)&^(1<<31), uint32(r.id))
	}
	return fmt.Sprintf("term %d", r.id)
}

// blocksOf returns the number of blocks that df postings fill.
func blocksOf(df uint32) uint32 { return (df + blockPostings - 1) / blockPostings }

// lookup returns the record of a term, or of another form with its mark; the zero record if the index has none. It
// fails if the index is damaged.
func (x *Index) lookup(term []byte) (termRecord, error) {
	within := formRange{0, x.terms}
	if forms.IsForm(string(term)) {
		var err error
		within, err = x.forms()
		if err != nil || within.first == within.end {
			return termRecord{}, err
		}
	}
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
		if id-1 < within.first || id-1 >= within.end {
			slot = (slot + 1) & (n - 1)
			continue
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

// formRange is where other forms are among the terms, which are in the order of their bytes.
type formRange struct{ first, end uint32 }

// findForms returns the range of other forms among the terms. Most terms of questions are not in it, which saves
// reading their texts. It fails if the index is damaged.
func (x *Index) findForms() (formRange, error) {
	var failed error
	before := func(mark string) uint32 { // how many terms are below it
		return uint32(sort.Search(int(x.terms), func(id int) bool {
			text, err := x.termText(uint32(id))
			failed = cmp.Or(failed, err)
			return string(text) >= mark
		}))
	}
	forms := formRange{before(forms.FormMark), before(forms.AfterForms)}
	return forms, failed
}

// termText returns the bytes of term number id, in place, valid until Close. It fails if there is no such term or the
// index is damaged.
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

// record returns the record of term number id. It fails if the record is impossible.
func (x *Index) record(id uint32) (termRecord, error) {
	b, err := x.bytes(sectionTerms, termSize*uint64(id), 2*termSize)
	if err != nil {
		return termRecord{}, err
	}
	le := binary.LittleEndian
	r := termRecord{
		id:    uint64(id),
		df:    le.Uint32(b[4:]),
		start: le.Uint64(b[8:]),
		end:   le.Uint64(b[termSize+8:]),
		first: le.Uint32(b[16:]),
		high:  le.Uint32(b[20:]),
	}
	if r.df == 0 || r.df > x.passages || r.start > r.end || r.end > x.sections[sectionPostings].length ||
		uint64(r.high) >= uint64(len(x.impacts)) {
		return termRecord{}, x.damaged("the record of term %d is impossible", id)
	}
	r.blocks = blocksOf(r.df)
	if r.blocks > 1 && uint64(r.first)+uint64(r.blocks) > x.sections[sectionBlocks].length/blockSize {
		return termRecord{}, x.damaged("the blocks of term %d are missing", id)
	}
	return r, nil
}
