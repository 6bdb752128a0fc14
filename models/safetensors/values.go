package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
)

// Floats reads a tensor of type F32, F16 or BF16 as float32, row by row. A
// tensor that is missing, of another type or of another shape is an error
// that names it; so is one with a value that is not finite, since no encoder
// works with such weights.
func (f *File) Floats(name string, shape ...int) ([]float32, error) {
	info, ok := f.tensors[name]
	if !ok {
		return nil, fmt.Errorf("tensor %q is missing", name)
	}
	want := make([]int64, len(shape))
	for i, d := range shape {
		want[i] = int64(d)
	}
	if !slices.Equal(info.Shape, want) {
		return nil, fmt.Errorf("tensor %q has shape %v, not %v", name, info.Shape, want)
	}
	width, decode := decoder(info.Type)
	if decode == nil {
		return nil, fmt.Errorf("tensor %q has type %s; F32, F16 and BF16 are read", name, info.Type)
	}
	values := make([]float32, 0, (info.End-info.Begin)/width)
	section := io.NewSectionReader(f.source, info.Begin, info.End-info.Begin)
	buffer := make([]byte, min(1<<20, info.End-info.Begin))
	for len(values) < cap(values) {
		part := buffer[:min(int64(len(buffer)), int64(cap(values)-len(values))*width)]
		if _, err := io.ReadFull(section, part); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		values = decode(values, part)
	}
	for i, v := range values {
		if v-v != 0 {
			return nil, fmt.Errorf("tensor %q has the value %v at element %d", name, v, i)
		}
	}
	return values, nil
}

func decoder(kind string) (width int64, decode func([]float32, []byte) []float32) {
	switch kind {
	case "F32":
		return 4, func(values []float32, raw []byte) []float32 {
			for ; len(raw) >= 4; raw = raw[4:] {
				values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
			}
			return values
		}
	case "BF16":
		return 2, func(values []float32, raw []byte) []float32 {
			for ; len(raw) >= 2; raw = raw[2:] {
				values = append(values, math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw))<<16))
			}
			return values
		}
	case "F16":
		return 2, func(values []float32, raw []byte) []float32 {
			for ; len(raw) >= 2; raw = raw[2:] {
				values = append(values, half(binary.LittleEndian.Uint16(raw)))
			}
			return values
		}
	}
	return 0, nil
}

// half is the value of an IEEE 754 binary16 number.
func half(bits uint16) float32 {
	sign := uint32(bits>>15) << 31
	exponent := uint32(bits >> 10 & 0x1f)
	fraction := uint32(bits & 0x3ff)
	switch exponent {
	case 0: // zero and subnormal: fraction · 2⁻²⁴
		v := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
