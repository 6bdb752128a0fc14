package bm25

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"example.org/conclave/bm25/forms"
)

// check verifies the whole file: every checksum, and that what the file says
// hangs together, down to every posting. It takes the time of reading the file
// and eight bytes of memory per passage, twelve with phrases.
func (x *Index) check() error {
	if err := x.verify(0, x.sections[sectionChecksums].offset); err != nil {
		return err
	}
	lengths, err := x.checkLengths()
	if err != nil {
		return err
	}
	found := make([]uint32, x.passages) // terms found in each passage
	counts := make([]uint64, len(x.impacts))
	blocks, err := x.checkTerms(lengths, found, counts)
	if err != nil {
		return err
	}
	blocks, err = x.checkPhrases(blocks, lengths, counts)
	if err != nil {
		return err
	}
	if uint64(blocks)*blockSize != x.sections[sectionBlocks].length {
		return x.damaged("there are blocks without a term or phrase")
	}
	if !slices.Equal(found, lengths) {
		return x.damaged("the postings of some passages are more or fewer than their lengths say")
	}
	b, err := x.bytes(sectionImpacts, 0, x.sections[sectionImpacts].length)
	if err != nil {
		return err
	}
	for rank, n := range counts {
		if n != binary.LittleEndian.Uint64(b[impactSize*rank+8:]) {
			return x.damaged("%d postings have impact %d, not as many as counted", n, rank)
		}
	}
	return nil
}

// checkTerms reads all terms, and counts their blocks.
func (x *Index) checkTerms(lengths, found []uint32, counts []uint64) (blocks uint32, err error) {
	var before []byte
	next := termRecord{}
	for id := range x.terms {
		text, err := x.termText(id)
		if err != nil {
			return 0, err
		}
		if len(text) == 0 || id > 0 && bytes.Compare(before, text) >= 0 {
			return 0, x.damaged("term %d (%q) does not follow %q", id, text, before)
		}
		if bytes.IndexByte(text, forms.PhraseGap) >= 0 {
			return 0, x.damaged("term %d (%q) is two", id, text)
		}
		before = text
		r, err := x.record(id)
		if err != nil {
			return 0, err
		}
		if known, err := x.lookup(text); err != nil || known.id != r.id || known.df == 0 {
			return 0, x.damaged("term %d (%q) is not found by its hash", id, text)
		}
		if r.start != next.end || r.first != blocks {
			return 0, x.damaged("the postings of term %q do not follow those before", text)
		}
		next = r
		if r.blocks > 1 {
			blocks += r.blocks
		}
		if err := x.checkPostings(r, lengths, found, counts); err != nil {
			return 0, err
		}
	}
	if next.end != x.sections[sectionPostings].length {
		return 0, x.damaged("there are postings without a term")
	}
	return blocks, nil
}

// checkLengths compares the passages' lengths with the sums in the footer.
func (x *Index) checkLengths() ([]uint32, error) {
	b, err := x.bytes(sectionLengths, 0, x.sections[sectionLengths].length)
	if err != nil {
		return nil, err
	}
	lengths := make([]uint32, x.passages)
	tokens := uint64(0)
	withTerms := uint32(0)
	for i := range lengths {
		lengths[i] = binary.LittleEndian.Uint32(b[4*i:])
		tokens += uint64(lengths[i])
		if lengths[i] > 0 {
			withTerms++
		}
	}
	if tokens != x.tokens || withTerms != x.withTerms {
		return nil, x.damaged(
			"%d passages have %d terms, and %d with %d are claimed", withTerms, tokens, x.withTerms, x.tokens,
		)
	}
	return lengths, nil
}

// checkPostings reads all postings of a term.
func (x *Index) checkPostings(r termRecord, lengths, found []uint32, counts []uint64) error {
	c := &cursor{}
	if err := c.reset(x, new(strengths), r, 1); err != nil {
		return err
	}
	highest := uint32(0)
	next := uint64(0) // the least passage that the next posting may be of
	for ; c.block < r.blocks; c.block++ {
		if err := c.decode(); err != nil {
			return err
		}
		high := uint32(0)
		for i, passage := range c.passages[:c.n] {
			rank, ok := c.rankAt(i)
			if !ok || uint64(passage) < next {
				return c.damaged()
			}
			next = uint64(passage) + 1
			if x.impacts[rank].length != roundLength(lengths[passage]) {
				return x.damaged("the length of passage %d is not that of its postings", passage)
			}
			high = max(high, rank)
			counts[rank]++
			found[passage] += x.impacts[rank].tf
		}
		if c.highOf(c.block) != high {
			return x.damaged("the bound of block %d of %s is %d and should be %d", c.block, r, c.highOf(c.block), high)
		}
		highest = max(highest, high)
	}
	if highest != r.high {
		return x.damaged("the bound of %s is %d and should be %d", r, r.high, highest)
	}
	return nil
}

// checkPhrases reads all phrases, whose blocks follow so many of terms, and
// returns how many blocks there are with theirs. (That phrases ascend, that they
// are of terms of the segment, and that they and their blocks fill their run up to
// the next one, is checked wherever all are read.)
func (x *Index) checkPhrases(blocks uint32, lengths []uint32, counts []uint64) (uint32, error) {
	if !x.params.Phrases {
		if x.phrases > 0 || x.sections[sectionPhrases].length > 0 {
			return 0, x.damaged("there are phrases, and it was indexed without")
		}
		return blocks, nil
	}
	found := make([]uint32, x.passages) // phrases found in each passage
	reader := phraseReader{index: x}
	for {
		err := reader.next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		run := &reader.run
		if run.number == 0 && run.start != 0 {
			return 0, x.damaged("the first phrases begin at %d", run.start)
		}
		r, err := run.record()
		if err != nil {
			return 0, err
		}
		if run.first != blocks {
			return 0, x.damaged("the blocks of %s do not follow those before", r)
		}
		blocks = run.block
		if err := x.checkPostings(r, lengths, found, counts); err != nil {
			return 0, err
		}
	}
	if x.phrases == 0 && x.sections[sectionPhrases].length > 0 {
		return 0, x.damaged("there are no phrases in %d bytes of them", x.sections[sectionPhrases].length)
	}
	for passage, n := range found {
		// One fewer than the terms, or two when title and text both have some.
		if length := lengths[passage]; n+1 != length && n+2 != length && n+length != 0 {
			return 0, x.damaged("passage %d has %d terms and %d phrases", passage, length, n)
		}
	}
	return blocks, nil
}
