package kernel

import "math"

// turn turns a token vector in place: signs by dimension, then a Walsh-Hadamard transform of each part whose length is
// a power of two, the longest first. Lengths and inner products stay. Afterwards no dimension of a token stands for
// anything by itself, and its numbers are distributed nearly normally, whatever head made them. Only sums and single
// products are made, so that every processor gives the same bits.
func turn(vector []float32) {
	for d, sign := range turnSigns[:len(vector)] {
		vector[d] *= sign
	}
	turnParts(vector)
}

// turnVector turns a vector of up to MaxDimension elements in place, as turn does, but that the transform is applied to
// the longest part from the front whose length is a power of two, and then, with other signs, to as long a part up to
// the end. So each number of the result comes of at least half of the elements. Lengths and inner products stay.
func turnVector(vector []float32) {
	for d, sign := range turnSigns[:len(vector)] {
		vector[d] *= sign
	}
	n := longestPart(len(vector))
	transform(vector[:n])
	if n == len(vector) {
		return
	}
	end := vector[len(vector)-n:]
	for d := range end {
		end[d] *= turnSigns[MaxDimension-1-d]
	}
	transform(end)
}

// longestPart returns the greatest power of two that is not above n; 1 for 0.
func longestPart(n int) int {
	part := 1
	for 2*part <= n {
		part *= 2
	}
	return part
}

// turnBack undoes turn, to within rounding.
func turnBack(vector []float32) {
	turnParts(vector)
	for d, sign := range turnSigns[:len(vector)] {
		vector[d] *= sign
	}
}

// turnParts applies the transform to each part of the vector, which is its own inverse.
func turnParts(vector []float32) {
	for len(vector) > 0 {
		n := longestPart(len(vector))
		transform(vector[:n])
		vector = vector[n:]
	}
}

// transform applies the Walsh-Hadamard transform to a part, in place, scaled so that lengths stay. The part's length
// must be a power of two.
func transform(part []float32) {
	n := len(part)
	for half := 1; half < n; half *= 2 {
		for from := 0; from < n; from += 2 * half {
			a, b := part[from:from+half], part[from+half:from+2*half]
			for i, x := range a {
				y := b[i]
				a[i] = x + y
				b[i] = x - y
			}
		}
	}
	scale := float32(1 / math.Sqrt(float64(n)))
	for i := range part {
		part[i] *= scale
	}
}

// turnSigns are the signs of all dimensions that there may be (turnSign).
var turnSigns = func() (signs [MaxDimension]float32) {
	for d := range signs {
		signs[d] = turnSign(d)
	}
	return signs
}()

// turnSign returns the sign of a dimension, 1 or -1: a fixed draw (Steele, Lea and Flood 2014, splitmix64).
func turnSign(d int) float32 {
	x := uint64(d+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return 1 - 2*float32((x^x>>31)&1)
}
