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
		n := 1
		for 2*n <= len(vector) {
			n *= 2
		}
		part := vector[:n]
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
		vector = vector[n:]
	}
}

// turnSigns are the signs of all dimensions that there may be (turnSign).
var turnSigns = func() (signs [MaxTokenDimension]float32) {
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
