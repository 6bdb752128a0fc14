package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// Tensor is a tensor to be written: Raw holds its elements, little-endian, in
// the type that Type names as files do.
type Tensor struct {
	Name  string
	Type  string
	Shape []int64
	Raw   []byte
}

// Write writes the tensors, in this order, as one safetensors file.
func Write(w io.Writer, tensors []Tensor) error { return WriteWith(w, nil, tensors) }

// WriteWith is Write with free-form metadata.
func WriteWith(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	type place struct {
		Type    string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	header := make(map[string]any, len(tensors)+1)
	if len(metadata) > 0 {
		header[metadataKey] = metadata
	}
	var end int64
	for _, t := range tensors {
		want, ok := product(t.Shape, widths[t.Type])
		if !ok || widths[t.Type] == 0 || want != int64(len(t.Raw)) {
			return fmt.Errorf("tensor %q: %s %v does not fit its %d bytes", t.Name, t.Type, t.Shape, len(t.Raw))
		}
		if _, twice := header[t.Name]; twice {
			return fmt.Errorf("tensor %q is there twice", t.Name)
		}
		shape := t.Shape
		if shape == nil {
			shape = []int64{}
		}
		header[t.Name] = place{t.Type, shape, [2]int64{end, end + want}}
		end += want
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 { // the format aligns the elements
		text = append(text, ' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, t := range tensors {
		if _, err := w.Write(t.Raw); err != nil {
			return err
		}
	}
	return nil
}
