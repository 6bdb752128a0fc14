package onnx

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Existing is a model that was exported elsewhere, as far as conclave looks
// into it. Its bytes come from strangers: Read checks them and never panics.
type Existing struct {
	// IRVersion is the version of the file format.
	IRVersion int64
	Opsets    []Opset
	// Inputs are what a caller gives; constants that old exporters list among
	// them are left out.
	Inputs  []Value
	Outputs []Value
	// Operators are the names of the operators in use, of all sets, but for
	// those inside control flow.
	Operators map[string]bool
	// External are the weights that lie in other files.
	External []External

	model []field // all of the model but the graph
	graph []field
	names map[string]bool
}

// External says where a weight lies that is not in the model's file.
type External struct {
	Tensor string
	// Location is a path from the model's folder.
	Location string
	// Offset and Length are in bytes; a Length of -1 is up to the file's end.
	Offset, Length int64
}

// field is one field of a message, as it stands in the file.
type field struct {
	number protowire.Number
	kind   protowire.Type
	raw    []byte // with its tag
	value  []byte // of a BytesType
	varint uint64 // of a VarintType
}

// Read parses a model.
func Read(data []byte) (*Existing, error) {
	e := &Existing{Operators: map[string]bool{}, names: map[string]bool{}}
	top, err := fields(data)
	if err != nil {
		return nil, fmt.Errorf("not an ONNX model: %w", err)
	}
	graphs := 0
	for _, f := range top {
		switch f.number {
		case 1:
			e.IRVersion = int64(f.varint)
		case 7:
			graphs++
			if e.graph, err = fields(f.value); err != nil {
				return nil, fmt.Errorf("the graph: %w", err)
			}
			continue
		case 8:
			set, err := readOpset(f.value)
			if err != nil {
				return nil, fmt.Errorf("an operator set: %w", err)
			}
			e.Opsets = append(e.Opsets, set)
		}
		e.model = append(e.model, f)
	}
	if graphs != 1 || e.IRVersion < 1 {
		return nil, fmt.Errorf("not an ONNX model: %d graphs, format version %d", graphs, e.IRVersion)
	}
	return e, e.readGraph()
}

func (e *Existing) readGraph() error {
	constants := map[string]bool{}
	var inputs []Value
	for _, f := range e.graph {
		switch f.number {
		case 1:
			if err := e.readNode(f.value); err != nil {
				return fmt.Errorf("a node: %w", err)
			}
		case 5:
			name, err := e.readInitialiser(f.value)
			if err != nil {
				return fmt.Errorf("an initialiser: %w", err)
			}
			constants[name], e.names[name] = true, true
		case 11, 12:
			v, err := readValue(f.value)
			if err != nil {
				return fmt.Errorf("an input or output: %w", err)
			}
			e.names[v.Name] = true
			if f.number == 11 {
				inputs = append(inputs, v)
			} else {
				e.Outputs = append(e.Outputs, v)
			}
		}
	}
	for _, v := range inputs {
		if !constants[v.Name] {
			e.Inputs = append(e.Inputs, v)
		}
	}
	return nil
}

func (e *Existing) readNode(data []byte) error {
	all, err := fields(data)
	for _, f := range all {
		switch f.number {
		case 2:
			e.names[string(f.value)] = true
		case 4:
			e.Operators[string(f.value)] = true
		}
	}
	return err
}

func (e *Existing) readInitialiser(data []byte) (string, error) {
	all, err := fields(data)
	if err != nil {
		return "", err
	}
	var name string
	outside := External{Length: -1}
	external := false
	for _, f := range all {
		switch f.number {
		case 8:
			name = string(f.value)
		case 13:
			if err := outside.read(f.value); err != nil {
				return "", err
			}
		case 14:
			external = f.varint == 1
		}
	}
	if external {
		outside.Tensor = name
		e.External = append(e.External, outside)
	}
	return name, nil
}

// read takes in one key and value of an external_data field.
func (x *External) read(data []byte) error {
	all, err := fields(data)
	if err != nil {
		return err
	}
	var key, value string
	for _, f := range all {
		switch f.number {
		case 1:
			key = string(f.value)
		case 2:
			value = string(f.value)
		}
	}
	number := func(into *int64) error {
		if _, err := fmt.Sscanf(value, "%d", into); err != nil || *into < 0 {
			return fmt.Errorf("external data: %s is %q, not a number of bytes", key, value)
		}
		return nil
	}
	switch key {
	case "location":
		x.Location = value
	case "offset":
		return number(&x.Offset)
	case "length":
		return number(&x.Length)
	}
	return nil
}

func readOpset(data []byte) (Opset, error) {
	all, err := fields(data)
	var o Opset
	for _, f := range all {
		switch f.number {
		case 1:
			o.Domain = string(f.value)
		case 2:
			o.Version = int64(f.varint)
		}
	}
	if o.Domain == "ai.onnx" {
		o.Domain = ""
	}
	return o, err
}

// readValue reads a ValueInfoProto. A value that is no tensor has Type 0.
func readValue(data []byte) (Value, error) {
	var v Value
	all, err := fields(data)
	if err != nil {
		return v, err
	}
	for _, f := range all {
		switch f.number {
		case 1:
			v.Name = string(f.value)
		case 2:
			kinds, err := fields(f.value)
			if err != nil {
				return v, err
			}
			for _, kind := range kinds {
				if kind.number == 1 {
					if err := v.readTensor(kind.value); err != nil {
						return v, err
					}
				}
			}
		}
	}
	if v.Name == "" || !utf8.ValidString(v.Name) {
		return v, fmt.Errorf("its name %q is no name", v.Name)
	}
	return v, nil
}

func (v *Value) readTensor(data []byte) error {
	all, err := fields(data)
	if err != nil {
		return err
	}
	for _, f := range all {
		switch f.number {
		case 1:
			v.Type = DataType(f.varint)
		case 2:
			dims, err := fields(f.value)
			if err != nil {
				return err
			}
			v.Shape = []Dim{}
			for _, d := range dims {
				if d.number != 1 {
					continue
				}
				dim, err := readDim(d.value)
				if err != nil {
					return err
				}
				v.Shape = append(v.Shape, dim)
			}
		}
	}
	return nil
}

func readDim(data []byte) (Dim, error) {
	d := Dim{Size: -1}
	all, err := fields(data)
	for _, f := range all {
		switch f.number {
		case 1:
			if d.Size = int64(f.varint); d.Size < 0 {
				return d, fmt.Errorf("an axis of length %d", d.Size)
			}
		case 2:
			d.Name = string(f.value)
		}
	}
	return d, err
}

var errTruncated = errors.New("the file is damaged or cut short")

// maxFields bounds the memory that a hostile message of tiny fields takes;
// large models have some ten thousand nodes.
const maxFields = 1 << 20

// fields splits a message. Groups, which ONNX has none of, are refused.
func fields(data []byte) ([]field, error) {
	var all []field
	for len(data) > 0 {
		if len(all) == maxFields {
			return nil, fmt.Errorf("more than %d fields in one message", maxFields)
		}
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, errTruncated
		}
		f := field{number: number, kind: kind}
		var m int
		switch kind {
		case protowire.VarintType:
			f.varint, m = protowire.ConsumeVarint(data[n:])
		case protowire.BytesType:
			f.value, m = protowire.ConsumeBytes(data[n:])
		case protowire.Fixed32Type:
			_, m = protowire.ConsumeFixed32(data[n:])
		case protowire.Fixed64Type:
			_, m = protowire.ConsumeFixed64(data[n:])
		default:
			return nil, errTruncated
		}
		if m < 0 {
			return nil, errTruncated
		}
		f.raw, data = data[:n+m], data[n+m:]
		all = append(all, f)
	}
	return all, nil
}
