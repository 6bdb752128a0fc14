package bm25

import (
	"encoding/binary"
	"math"
)

// A cursor reads the postings of one term, or phrase, in one segment, forwards,
// a block at a time. It is large, since it holds a decoded block, so cursors are
// pooled and reused for later questions.
type cursor struct {
	index  *Index
	scale  *strengths
	record termRecord
	weight float32 // the term's in the question
	blocks []byte  // the entries of the blocks; nil if there is only one

	block   uint32 // where the cursor is; record.blocks when it is past the end
	decoded bool   // whether that block is decoded
	place   int    // where the cursor is in it
	n       int    // how many postings it has
	wide    bool   // whether some impacts are not among the codes

	passages [blockPostings]uint32
	codes    []byte
	ranks    []byte       // of the impacts that are not among the codes
	scores   [256]float64 // by code: what a posting adds; for a term of one block only those in it
}

// reset moves the cursor before the first posting of the term with the record r in index x. scale has what each
// impact adds to a score, and weight is the term's in the question. It fails if the index is damaged.
func (c *cursor) reset(x *Index, scale *strengths, r termRecord, weight float32) error {
	if err := c.resetToFind(x, scale, r, weight); err != nil || c.blocks == nil {
		return err
	}
	for code, strength := range scale.ofCode {
		c.scores[code] = scale.score(weight, strength)
	}
	return nil
}

// resetToFind moves the cursor before the first posting of the term with the record r, but leaves c.scores as it is:
// the caller may use find and scoreOf only, which do not read that table. It fails if the index is damaged. weight is
// the term's in the question, scale has what each impact adds to a score.
func (c *cursor) resetToFind(x *Index, scale *strengths, r termRecord, weight float32) error {
	c.index, c.scale, c.record, c.weight = x, scale, r, weight
	c.block, c.decoded, c.place, c.blocks = 0, false, 0, nil
	if r.blocks > 1 {
		var err error
		c.blocks, err = x.bytes(sectionBlocks, blockSize*uint64(r.first), blockSize*uint64(r.blocks))
		if err != nil {
			return err
		}
	}
	return nil
}

// lastOf returns the last passage of a block. For a term of one block, which says it only when it is decoded, it is the
// last passage of the segment until then.
func (c *cursor) lastOf(block uint32) uint32 {
	if c.blocks != nil {
		return binary.LittleEndian.Uint32(c.blocks[blockSize*block:])
	}
	if c.decoded {
		return c.passages[c.n-1]
	}
	return c.index.passages - 1
}

// highOf returns the largest rank of the postings in a block.
func (c *cursor) highOf(block uint32) uint32 {
	if c.blocks == nil {
		return c.record.high
	}
	return binary.LittleEndian.Uint32(c.blocks[blockSize*block+8:])
}

// skipTo moves, block by block, to the first block that may have the given passage or a later one. The caller decodes
// it and sets the place in it.
func (c *cursor) skipTo(passage uint32) {
	for c.block < c.record.blocks && c.lastOf(c.block) < passage {
		c.block++
		c.decoded, c.place = false, 0
	}
}

// seek moves to the first block that may have the given passage or a later one, by bisection, which is faster than
// skipTo over many blocks. The caller decodes the block and sets the place in it.
func (c *cursor) seek(passage uint32) {
	low, high := c.block, c.record.blocks
	for low < high {
		if middle := low + (high-low)/2; c.lastOf(middle) < passage {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low != c.block {
		c.block, c.decoded, c.place = low, false, 0
	}
}

// bound returns the most that the term adds to the score of a passage from the cursor's block on and before the
// passage to; 0 at the end of the postings.
func (c *cursor) bound(to uint32) float64 {
	if c.block >= c.record.blocks {
		return 0
	}
	high := c.highOf(c.block)
	for b := c.block; c.lastOf(b) < to-1 && b+1 < c.record.blocks; {
		b++
		high = max(high, c.highOf(b))
	}
	return c.scale.bound(c.weight, high)
}

// decode reads the cursor's block, moves to its first posting and marks the block as decoded. Whatever the bytes are,
// it fails with a *DamageError or gives passages that ascend (equal ones possible) and exist in the segment.
func (c *cursor) decode() error {
	from := uint64(0)
	to := c.record.end - c.record.start
	base := uint32(0)
	last := c.index.passages - 1
	n := int(c.record.df - c.block*blockPostings)
	if c.blocks != nil {
		entry := c.blocks[blockSize*c.block:]
		from = uint64(binary.LittleEndian.Uint32(entry[4:]))
		last = binary.LittleEndian.Uint32(entry)
		if c.block+1 < c.record.blocks {
			to = uint64(binary.LittleEndian.Uint32(entry[blockSize+4:]))
		}
		if c.block > 0 {
			base = c.lastOf(c.block - 1)
		}
	}
	n = min(n, blockPostings)
	if from >= to || to > c.record.end-c.record.start {
		return c.damaged()
	}
	raw, err := c.index.bytes(c.record.section, c.record.start+from, to-from)
	if err != nil {
		return err
	}
	head := c.record.head
	if head == 0 {
		head = raw[0]
		raw = raw[1:]
	}
	width := int(head & widthMask)
	if width < 1 || width > 4 || len(raw) < n*(width+1) {
		return c.damaged()
	}
	gaps := raw[:n*width]
	c.codes = raw[n*width : n*(width+1)]
	c.ranks = raw[n*(width+1):]
	c.wide = head&wideImpacts != 0
	c.n, c.place, c.decoded = n, 0, true

	out := c.passages[:n]
	switch width {
	case 1:
		for i, gap := range gaps[:len(out)] {
			base += uint32(gap)
			out[i] = base
		}
	case 2:
		for i := range out {
			base += uint32(binary.LittleEndian.Uint16(gaps[2*i:]))
			out[i] = base
		}
	case 3:
		for i := range out {
			base += uint32(gaps[3*i]) | uint32(gaps[3*i+1])<<8 | uint32(gaps[3*i+2])<<16
			out[i] = base
		}
	case 4:
		wide := uint64(base)
		for i := range out {
			wide = min(wide+uint64(binary.LittleEndian.Uint32(gaps[4*i:])), math.MaxUint32)
			out[i] = uint32(wide)
		}
	}
	if out[n-1] > last || c.blocks != nil && out[n-1] != last || last >= c.index.passages {
		return c.damaged()
	}
	if c.blocks == nil {
		for _, code := range c.codes {
			c.scores[code] = c.scale.score(c.weight, c.scale.ofCode[code])
		}
	}
	return nil
}

// damaged moves the cursor to its end and returns a *DamageError about its block.
func (c *cursor) damaged() error {
	block := c.block
	c.block = c.record.blocks
	c.decoded = false
	return c.index.damaged("block %d of %s is impossible", block, c.record)
}

// rankAt returns the rank of the impact of posting number place in the decoded block; false if it is damaged.
func (c *cursor) rankAt(place int) (uint32, bool) {
	if code := c.codes[place]; code != otherImpact {
		if int(code) >= len(c.index.codes) {
			return 0, false
		}
		return c.index.codes[code], true
	}
	before := 0
	for _, code := range c.codes[:place] {
		if code == otherImpact {
			before++
		}
	}
	if 4*before+4 > len(c.ranks) {
		return 0, false
	}
	rank := binary.LittleEndian.Uint32(c.ranks[4*before:])
	return rank, uint64(rank) < uint64(len(c.index.impacts))
}

// eachScore calls visit with the postings from the cursor's place up to, but not including, end in the decoded block,
// and what each adds to a score. It is for blocks in which some impacts have no code. It fails with a *DamageError if
// the block is damaged; visit may have been called by then.
func (c *cursor) eachScore(end int, visit func(passage uint32, score float64)) error {
	others := 0
	for _, code := range c.codes[:c.place] {
		if code == otherImpact {
			others++
		}
	}
	for i := c.place; i < end; i++ {
		score := c.scores[c.codes[i]]
		if c.codes[i] == otherImpact {
			if 4*others+4 > len(c.ranks) {
				return c.damaged()
			}
			rank := binary.LittleEndian.Uint32(c.ranks[4*others:])
			if uint64(rank) >= uint64(len(c.scale.ofRank)) {
				return c.damaged()
			}
			score = c.scoreOf(rank)
			others++
		}
		visit(c.passages[i], score)
	}
	return nil
}

// scoreOf returns what a posting whose impact has this rank adds to its passage's score. It panics if there is no such
// rank.
func (c *cursor) scoreOf(rank uint32) float64 {
	return c.scale.score(c.weight, c.scale.ofRank[rank])
}

// find moves forward to a passage and returns the rank of its posting; ok is false if the term has none. Passages
// must ascend from call to call. It returns a *DamageError for a damaged block.
func (c *cursor) find(passage uint32) (rank uint32, ok bool, err error) {
	c.seek(passage)
	if c.block >= c.record.blocks {
		return 0, false, nil
	}
	if !c.decoded {
		if err := c.decode(); err != nil {
			return 0, false, err
		}
	}
	low, high := c.place, c.n
	for low < high {
		if middle := (low + high) / 2; c.passages[middle] < passage {
			low = middle + 1
		} else {
			high = middle
		}
	}
	c.place = low
	if low == c.n || c.passages[low] != passage {
		return 0, false, nil
	}
	rank, ok = c.rankAt(low)
	if !ok {
		return 0, false, c.damaged()
	}
	return rank, true, nil
}
