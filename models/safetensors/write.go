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
	Shape []int
	Raw   []byte
}

// Write writes the tensors, in this order, as one safetensors file with
// free-form metadata.
func Write(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	header := map[string]any{}
	if len(metadata) > 0 {
		header[metadataKey] = metadata
	}
	var end int64
	for _, t := range tensors {
		size := int64(len(t.Raw))
		if widths[t.Type] == 0 || bytesOf(t.Type, t.Shape) != size {
			return fmt.Errorf("tensor %q: %s %v does not fit its %d bytes", t.Name, t.Type, t.Shape, size)
		}
		header[t.Name] = entry{t.Type, append([]int{}, t.Shape...), []int64{end, end + size}}
		end += size
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
