package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/x448/float16"
)

// Floats returns the values of a tensor of type F32, F16 or BF16 as float32, row by row, in new memory. It fails if
// the tensor is missing or has another type or shape, and for a value that is not finite, since no encoder works
// with such weights.
func (f *File) Floats(name string, shape ...int) ([]float32, error) {
	info, ok := f.tensors[name]
	if !ok {
		return nil, fmt.Errorf("tensor %q is missing", name)
	}
	if !slices.Equal(info.Shape, shape) {
		return nil, fmt.Errorf("tensor %q has shape %v, not %v", name, info.Shape, shape)
	}
	raw := make([]byte, info.End-info.Begin)
	if _, err := io.ReadFull(io.NewSectionReader(f.source, info.Begin, info.End-info.Begin), raw); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", name, err)
	}
	var element func(raw []byte) float32
	switch info.Type {
	case "F32":
		element = func(raw []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(raw)) }
	case "BF16":
		element = func(raw []byte) float32 {
			return math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw)) << 16)
		}
	case "F16":
		element = func(raw []byte) float32 { return float16.Frombits(binary.LittleEndian.Uint16(raw)).Float32() }
	default:
		return nil, fmt.Errorf("tensor %q has type %s; F32, F16 and BF16 are read", name, info.Type)
	}
	width := int(widths[info.Type])
	values := make([]float32, len(raw)/width)
	for i := range values {
		values[i] = element(raw[i*width:])
		if v := values[i]; v-v != 0 {
			return nil, fmt.Errorf("tensor %q has the value %v at element %d", name, v, i)
		}
	}
	return values, nil
}
