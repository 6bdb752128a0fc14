package bm25

import (
	"encoding/binary"
	"io"
	"sort"
)

// phraseKey returns a number that orders phrases by their first term's number, then by their second's.
func phraseKey(first, second uint32) uint64 { return uint64(first)<<32 | uint64(second) }

// lookupPhrase returns the record of the phrase "first second". Its df is 0 if the index does not have the phrase or
// one of the terms. The error says that the index cannot be read.
func (x *Index) lookupPhrase(first, second []byte) (termRecord, error) {
	a, err := x.lookup(first)
	if err != nil || a.df == 0 {
		return termRecord{}, err
	}
	b, err := x.lookup(second)
	if err != nil || b.df == 0 {
		return termRecord{}, err
	}
	key := phraseKey(uint32(a.id), uint32(b.id))
	after := sort.Search(int(runsFor(x.phrases)), func(i int) bool {
		begins, failed := x.runBegins(uint64(i))
		if failed != nil {
			err = failed
		}
		return begins > key
	})
	if err != nil || after == 0 {
		return termRecord{}, err
	}
	run, err := x.openRun(uint64(after - 1))
	if err != nil {
		return termRecord{}, err
	}
	for run.left > 0 {
		if err := run.next(); err != nil {
			return termRecord{}, err
		}
		if run.key >= key {
			break
		}
	}
	if run.key != key {
		return termRecord{}, nil
	}
	return run.record()
}

// runBegins returns the key of a run's first phrase (phraseKey). It fails if the index is damaged there.
func (x *Index) runBegins(run uint64) (key uint64, err error) {
	b, err := x.bytes(sectionRuns, runSize*run, 8)
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	return phraseKey(le.Uint32(b), le.Uint32(b[4:])), nil
}

// A phraseRun reads the phrases of a run one after the other.
type phraseRun struct {
	index   *Index
	number  uint64
	start   uint64 // of the run in the section
	entries []byte // the phrases
	place   int    // in entries, of the next phrase
	width   int    // bytes of a passage
	begun   bool
	left    int    // phrases that are to come
	blocks  uint64 // where the next phrase's blocks begin in the section
	end     uint64 // where the run's blocks end
	block   uint32 // the next one in the section of blocks

	// The phrase that was read last.
	key    uint64
	df     uint32
	high   uint64 // largest rank, of several passages
	at, to uint64 // its posting or its blocks in the section
	first  uint32 // its first entry in the section of blocks, if it has several
}

// openRun returns a reader that is before the run's first phrase. It fails if the run's place or first phrase is
// impossible. number is that of the run, from 0.
func (x *Index) openRun(number uint64) (phraseRun, error) {
	b, err := x.bytes(sectionRuns, runSize*number, runSize)
	if err != nil {
		return phraseRun{}, err
	}
	le := binary.LittleEndian
	r := phraseRun{
		index: x, number: number, width: passageWidth(x.passages),
		key:   phraseKey(le.Uint32(b), le.Uint32(b[4:])),
		start: le.Uint64(b[8:]),
		left:  int(min(x.phrases-runPhrases*number, runPhrases)),
		end:   x.sections[sectionPhrases].length,
		block: le.Uint32(b[20:]),
	}
	length := uint64(le.Uint32(b[16:]))
	if number+1 < runsFor(x.phrases) {
		b, err = x.bytes(sectionRuns, runSize*(number+1)+8, 8)
		if err != nil {
			return r, err
		}
		r.end = le.Uint64(b)
	}
	if r.start > r.end || r.end > x.sections[sectionPhrases].length || length > r.end-r.start ||
		r.key>>32 >= uint64(x.terms) ||
		r.key&0xffffffff >= uint64(x.terms) {
		return r, x.damaged("run %d of phrases is impossible", number)
	}
	r.blocks = r.start + length
	r.entries, err = x.bytes(sectionPhrases, r.start, length)
	return r, err
}

// next reads the next phrase into key, df and the fields after them. It returns a *DamageError if the phrase, or the
// end of the run, is damaged. r.left must not be 0.
func (r *phraseRun) next() error {
	code, ok := r.varint()
	switch step := code >> 1; {
	case !r.begun: // openRun has its key
		ok = ok && step == 0
	case step > 0:
		second := r.key&0xffffffff + min(step, 1<<32)
		ok = ok && second < uint64(r.index.terms)
		r.key = r.key>>32<<32 | second&0xffffffff
	default:
		more, ok1 := r.varint()
		second, ok2 := r.varint()
		first := r.key>>32 + min(more, 1<<32)
		ok = ok && ok1 && ok2 && more > 0 && first < uint64(r.index.terms) && second < uint64(r.index.terms)
		r.key = first<<32 | second&0xffffffff
	}
	r.begun = true
	r.left--
	r.first = r.block
	if !ok {
		return r.damaged()
	}
	if code&1 == 0 {
		ok = r.readOne()
	} else {
		ok = r.readSeveral()
	}
	if !ok || r.left == 0 && (r.place != len(r.entries) || r.blocks != r.end) {
		return r.damaged()
	}
	return nil
}

// readOne reads the rest of a phrase that a single passage has: it sets df to 1, and at and to to the posting. It
// returns false if the run ends before that.
func (r *phraseRun) readOne() bool {
	r.df = 1
	r.at = r.start + uint64(r.place)
	r.place += r.width + 1
	if r.place <= len(r.entries) && r.entries[r.place-1] == otherImpact {
		r.place += 4
	}
	r.to = r.start + uint64(r.place)
	return r.place <= len(r.entries)
}

// readSeveral reads the rest of a phrase that two or more passages have: it sets df, high, and the range of the
// phrase's blocks. It returns false if a number is missing or impossible.
func (r *phraseRun) readSeveral() bool {
	df, ok1 := r.varint()
	length, ok2 := r.varint()
	high, ok3 := r.varint()
	if !ok1 || !ok2 || !ok3 || df < 2 || df > uint64(r.index.passages) || length > r.end-r.blocks {
		return false
	}
	r.df = uint32(df)
	r.high = high
	r.at = r.blocks
	r.to = r.blocks + length
	r.blocks = r.to
	if df > blockPostings {
		r.block += blocksOf(r.df)
	}
	return true
}

// varint reads a number of variable length; false if the run ends before it does.
func (r *phraseRun) varint() (uint64, bool) {
	if r.place < len(r.entries) && r.entries[r.place] < 0x80 {
		r.place++
		return uint64(r.entries[r.place-1]), true
	}
	if r.place >= len(r.entries) {
		return 0, false
	}
	v, n := binary.Uvarint(r.entries[r.place:])
	r.place += max(n, 0)
	return v, n > 0
}

// damaged returns a *DamageError about the phrase that was read last.
func (r *phraseRun) damaged() error {
	return r.index.damaged("a phrase of run %d, number %d from its end, is impossible", r.number, r.left)
}

// record returns the phrase that next read last as a record of the dictionary. It fails if the record points outside of
// the index.
func (r *phraseRun) record() (termRecord, error) {
	x := r.index
	out := termRecord{id: phraseID | r.key, df: r.df, blocks: 1, section: sectionPhrases, start: r.at, end: r.to}
	if r.df == 1 {
		out.head = byte(r.width)
		high := uint32(r.entries[r.at-r.start+uint64(r.width)])
		if high == otherImpact {
			out.head |= wideImpacts
			high = binary.LittleEndian.Uint32(r.entries[r.to-r.start-4:])
		} else if high < uint32(len(x.codes)) {
			high = x.codes[high]
		} else {
			return termRecord{}, r.damaged()
		}
		r.high = uint64(high)
	} else {
		out.blocks = blocksOf(r.df)
		if out.blocks > 1 {
			out.first = r.first
		}
		if out.blocks > 1 && uint64(out.first)+uint64(out.blocks) > x.sections[sectionBlocks].length/blockSize {
			return termRecord{}, x.damaged("the blocks of %s are missing", out)
		}
	}
	if r.high >= uint64(len(x.impacts)) {
		return termRecord{}, x.damaged("the largest rank of %s is %d of %d", out, r.high, len(x.impacts))
	}
	out.high = uint32(r.high)
	return out, nil
}

// passageWidth returns how many bytes the passage's number takes for a phrase of a single passage: 1 to 4, by how many
// passages the segment has.
func passageWidth(passages uint32) int {
	width := 1
	for width < 4 && uint64(passages) > 1<<(8*width) {
		width++
	}
	return width
}

// A phraseReader reads all phrases of a segment, in order.
type phraseReader struct {
	index *Index
	run   phraseRun
	runs  uint64 // that were begun
}

// next reads the next phrase of the segment into p.run. It returns io.EOF after the last one, and an error if the order
// of the phrases is wrong.
func (p *phraseReader) next() error {
	if p.run.left == 0 {
		if p.runs == runsFor(p.index.phrases) {
			return io.EOF
		}
		before := p.run.key
		var err error
		p.run, err = p.index.openRun(p.runs)
		if err != nil {
			return err
		}
		if p.runs > 0 && p.run.key <= before {
			return p.index.damaged("run %d of phrases does not follow the one before", p.runs)
		}
		p.runs++
	}
	return p.run.next()
}
