// Package bench measures an index on any vectors: how long it takes to build,
// what it keeps resident, and how many queries it answers at which recall.
package bench

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
)

// halfToFloat is the value of an IEEE 754 half-precision number.
func halfToFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exponent == 31: // infinity and not a number
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	case exponent == 0: // zero and subnormal numbers
		value := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(value) | sign)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ReadVectors reads a file of little-endian numbers, row by row without a
// header: half precision if its name ends in .f16, single if in .f32.
func ReadVectors(path string, dim int) ([]float32, error) {
	if dim < 1 {
		return nil, fmt.Errorf("reading %s: the dimension is %d; say how many numbers a row has", path, dim)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading vectors: %w", err)
	}
	size := 4
	if strings.HasSuffix(path, ".f16") {
		size = 2
	} else if !strings.HasSuffix(path, ".f32") {
		return nil, fmt.Errorf("reading %s: the name should end in .f16 or .f32, which says what is in it", path)
	}
	if len(raw)%(size*dim) != 0 {
		return nil, fmt.Errorf("reading %s: %d bytes are no whole number of rows of %d numbers of %d bytes", path, len(raw), dim, size)
	}
	out := make([]float32, len(raw)/size)
	for i := range out {
		if size == 2 {
			out[i] = halfToFloat(binary.LittleEndian.Uint16(raw[2*i:]))
		} else {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	}
	return out, nil
}
