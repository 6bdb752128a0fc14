package rank

import "math"

// Key returns a number that is smaller the better the hit is: keys ascend in the order of Compare. The score must not
// be NaN.
func (h Hit) Key() uint64 {
	b := math.Float32bits(h.Score + 0) // -0 becomes 0
	// Flip negative numbers wholly and positive ones' sign: bits then ascend with the number. Their complement
	// descends.
	ascending := b ^ (uint32(int32(b)>>31) | 1<<31)
	return uint64(^ascending)<<32 | uint64(h.Ordinal)
}

// HitOf returns the hit that has a key.
func HitOf(key uint64) Hit {
	ascending := ^uint32(key >> 32)
	score := math.Float32frombits(ascending ^ (uint32(int32(^ascending)>>31) | 1<<31))
	return Hit{Ordinal: Ordinal(key), Score: score}
}
