package convert

import (
	"encoding/binary"
	"encoding/json"
	"io"
)

// Tensor is a tensor of a file that a test writes: Raw holds its elements, little-endian,
// in the type that Type names as files do.
type Tensor struct {
	Name, Type string
	Shape      []int
	Raw        []byte
}

// WriteTensors writes the tensors, in this order, as one safetensors file.
func WriteTensors(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	header := map[string]any{}
	if metadata != nil {
		header["__metadata__"] = metadata
	}
	var data []byte
	for _, t := range tensors {
		begin := len(data)
		data = append(data, t.Raw...)
		header[t.Name] = struct {
			Type    string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{t.Type, append([]int{}, t.Shape...), [2]int{begin, len(data)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 { // the format aligns the elements
		text = append(text, ' ')
	}
	_, err = w.Write(append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...))
	return err
}
