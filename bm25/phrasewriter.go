package bm25

import (
	"encoding/binary"
	"fmt"
)

// A phraseWriter encodes the phrases of one run after the other (see the file's
// format), and keeps the entry of each run for the section of runs.
type phraseWriter struct {
	width   int    // bytes of a passage
	entries []byte // the run's phrases
	blocks  []byte // and their blocks
	n       int    // how many phrases
	last    uint64 // key of the last one
	heads   []byte // the entry of each run
}

// addPhrase writes a phrase and its postings in from, unless all its passages were deleted. The key has the terms'
// numbers in the new segment; keys must ascend. It fails if the sources are damaged, or the phrase has more than a
// segment can hold.
func (w *segmentWriter) addPhrase(key uint64, from []termIterator) error {
	p, r := &w.posting, &w.run
	some, err := w.readPostings(from)
	if some && p.df > 1 {
		p.flush()
		err = p.err
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", termRecord{id: phraseID | key}, err)
	}
	if !some {
		return nil
	}
	if r.n == 0 {
		w.beginRun(key)
	}
	r.addKey(key, p.df > 1)
	if p.df == 1 {
		r.addOne(p.last, p.high, p.codes[p.high])
	} else {
		r.entries = binary.AppendUvarint(r.entries, uint64(p.df))
		r.entries = binary.AppendUvarint(r.entries, uint64(len(p.out)))
		r.entries = binary.AppendUvarint(r.entries, uint64(p.high))
		r.blocks = append(r.blocks, p.out...)
	}
	if p.df > blockPostings {
		w.blocks = append(w.blocks, p.blocks...)
	}
	w.footer.phrases++
	if r.n++; r.n == runPhrases {
		w.closeRun()
	}
	return nil
}

// beginRun appends the entry of a new run, whose first phrase has this key. closeRun fills in its length.
func (w *segmentWriter) beginRun(key uint64) {
	le := binary.LittleEndian
	h := le.AppendUint32(w.run.heads, uint32(key>>32))
	h = le.AppendUint32(h, uint32(key))
	h = le.AppendUint64(h, w.written)
	h = le.AppendUint32(h, 0) // see closeRun
	w.run.heads = le.AppendUint32(h, uint32(len(w.blocks)/blockSize))
}

// closeRun writes the run of phrases that was begun, with its blocks, and sets its length in its entry. It does
// nothing if the run has no phrase.
func (w *segmentWriter) closeRun() {
	r := &w.run
	if r.n == 0 {
		return
	}
	binary.LittleEndian.PutUint32(r.heads[len(r.heads)-8:], uint32(len(r.entries)))
	w.write(r.entries)
	w.write(r.blocks)
	w.written += uint64(len(r.entries) + len(r.blocks))
	r.entries = r.entries[:0]
	r.blocks = r.blocks[:0]
	r.n = 0
}

// addKey appends a phrase's key as the difference from the one before. several says that the phrase is in several
// passages.
func (r *phraseWriter) addKey(key uint64, several bool) {
	code := uint64(0)
	if several {
		code = 1
	}
	before := r.last
	r.last = key
	switch {
	case r.n == 0:
		r.entries = append(r.entries, byte(code))
	case key>>32 == before>>32:
		r.entries = binary.AppendUvarint(r.entries, (key-before)<<1|code)
	default:
		r.entries = append(r.entries, byte(code))
		r.entries = binary.AppendUvarint(r.entries, key>>32-before>>32)
		r.entries = binary.AppendUvarint(r.entries, uint64(uint32(key)))
	}
}

// addOne appends the posting of a phrase that one passage has. code is the code of its rank.
func (r *phraseWriter) addOne(passage, rank uint32, code byte) {
	for range r.width {
		r.entries = append(r.entries, byte(passage))
		passage >>= 8
	}
	r.entries = append(r.entries, code)
	if code == otherImpact {
		r.entries = binary.LittleEndian.AppendUint32(r.entries, rank)
	}
}
