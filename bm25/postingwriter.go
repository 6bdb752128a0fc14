package bm25

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A postingWriter encodes the postings of a term into blocks (see the file's format).
// Call reset before each term.
type postingWriter struct {
	lengths []uint32 // terms in each passage
	ranks   *ranks
	codes   []byte // rank → code, or otherImpact

	out    []byte // the term's blocks
	blocks []byte // the entry of each block
	df     uint32
	high   uint32 // largest rank of the term
	err    error

	// the block being filled
	n    int
	last uint32 // passage of the last posting
	gaps [blockPostings]uint32
	rank [blockPostings]uint32
}

// newPostingWriter returns a writer of lists of postings, for passages with these lengths. ranked are all impacts of
// the index; common are the ranks of those that have a code of one byte.
func newPostingWriter(lengths []uint32, ranked []countedImpact, common []uint32) postingWriter {
	w := postingWriter{lengths: lengths, ranks: newRanks(ranked), codes: make([]byte, len(ranked))}
	for i := range w.codes {
		w.codes[i] = otherImpact
	}
	for code, rank := range common {
		w.codes[rank] = byte(code)
	}
	return w
}

// reset begins a list without postings.
func (w *postingWriter) reset() {
	w.out, w.blocks = w.out[:0], w.blocks[:0]
	w.df, w.high, w.n, w.last = 0, 0, 0, 0
}

// add appends a posting. Passages have to come in ascending order; otherwise w.err is set, and nothing is added any
// more. tf is how often the passage has the term.
func (w *postingWriter) add(passage, tf uint32) {
	if w.err != nil {
		return
	}
	if uint64(passage) >= uint64(len(w.lengths)) || w.df > 0 && passage <= w.last {
		w.err = fmt.Errorf("a posting of passage %d follows one of %d, of %d passages", passage, w.last, len(w.lengths))
		return
	}
	rank := w.ranks.rank(impact{tf, roundLength(w.lengths[passage])})
	w.gaps[w.n] = passage - w.last
	w.rank[w.n] = rank
	w.last = passage
	w.df++
	w.high = max(w.high, rank)
	if w.n++; w.n == blockPostings {
		w.flush()
	}
}

// flush writes the block being filled to w.out and its entry to w.blocks, and empties it. It does nothing if the
// block is empty, and sets w.err if the postings are longer than 4 GiB.
func (w *postingWriter) flush() {
	if w.n == 0 {
		return
	}
	if uint64(len(w.out)) > math.MaxUint32 {
		w.err = fmt.Errorf("the term's postings are longer than 4 GiB: write smaller segments")
	}
	start := len(w.out)
	widest := uint32(0)
	high := uint32(0)
	wide := false
	for i := range w.n {
		widest = max(widest, w.gaps[i])
		high = max(high, w.rank[i])
		wide = wide || w.codes[w.rank[i]] == otherImpact
	}
	width := 1
	for width < 4 && widest>>(8*width) != 0 {
		width++
	}
	head := byte(width)
	if wide {
		head |= wideImpacts
	}
	w.out = append(w.out, head)
	for _, gap := range w.gaps[:w.n] {
		for range width {
			w.out = append(w.out, byte(gap))
			gap >>= 8
		}
	}
	for _, rank := range w.rank[:w.n] {
		w.out = append(w.out, w.codes[rank])
	}
	for _, rank := range w.rank[:w.n] {
		if w.codes[rank] == otherImpact {
			w.out = binary.LittleEndian.AppendUint32(w.out, rank)
		}
	}
	w.blocks = binary.LittleEndian.AppendUint32(w.blocks, w.last)
	w.blocks = binary.LittleEndian.AppendUint32(w.blocks, uint32(start))
	w.blocks = binary.LittleEndian.AppendUint32(w.blocks, high)
	w.n = 0
}
