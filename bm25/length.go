package bm25

import "math/bits"

// freeLengths is how many small lengths are kept exactly before Lucene's byte
// encoding turns to four significant bits.
const freeLengths = 24

// roundLength rounds a length to the nearest lower one that Lucene's norm byte
// can hold (SmallFloat.intToByte4): exact below 40, then four significant bits
// above an offset of 24.
func roundLength(n uint32) uint32 {
	if n < freeLengths {
		return n
	}
	rest := n - freeLengths
	if drop := bits.Len32(rest) - 4; drop > 0 {
		rest = rest >> drop << drop
	}
	return freeLengths + rest
}
