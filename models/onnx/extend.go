package onnx

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Extension is what is added to an existing model.
type Extension struct {
	// Before is put in front of the model's nodes and After behind them; only
	// their nodes and initialisers count.
	Before, After Graph
	// Inputs and Outputs, if not nil, stand in place of the model's.
	Inputs, Outputs []Value
	// Fetch reads weights that lie in other files; they are taken into the
	// model.
	Fetch func(External) ([]byte, error)
}

// Extend writes the model with x. What conclave does not know of a model is
// copied as it is.
func (e *Existing) Extend(w io.Writer, x Extension) error {
	graph, err := e.extendGraph(x)
	if err != nil {
		return err
	}
	var size uint64
	for _, part := range graph {
		size += uint64(len(part))
	}
	// Constants that are no inputs need format version 4.
	head := appendVarint(nil, 1, uint64(max(e.IRVersion, 4)))
	for _, f := range e.model {
		if f.number != 1 {
			head = append(head, f.raw...)
		}
	}
	head = protowire.AppendTag(head, 7, protowire.BytesType)
	head = protowire.AppendVarint(head, size)
	if total := uint64(len(head)) + size; total > maxModel {
		return fmt.Errorf("the model would be %d bytes long; an ONNX file holds at most %d", total, maxModel)
	}
	for _, part := range append([][]byte{head}, graph...) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// extendGraph gives the graph message in parts.
func (e *Existing) extendGraph(x Extension) ([][]byte, error) {
	front := Graph{Nodes: x.Before.Nodes}
	before, err := front.frame()
	if err != nil {
		return nil, err
	}
	parts := [][]byte{before}
	for _, f := range e.graph {
		switch {
		case f.number == 5:
			tensor, err := e.inline(f, x.Fetch)
			if err != nil {
				return nil, err
			}
			parts = append(parts, tensor...)
		case f.number == 11 && x.Inputs != nil, f.number == 12 && x.Outputs != nil:
		default:
			parts = append(parts, f.raw)
		}
	}
	tail := Graph{Nodes: x.After.Nodes, Inputs: x.Inputs, Outputs: x.Outputs}
	after, err := tail.frame()
	if err != nil {
		return nil, err
	}
	parts = append(parts, after)
	for _, g := range []Graph{x.Before, x.After} {
		for i := range g.Initialisers {
			t := &g.Initialisers[i]
			if err := t.check(); err != nil {
				return nil, err
			}
			parts = append(parts, t.head(), t.Raw)
		}
	}
	return parts, nil
}

// inline gives an initialiser's field with its weights inside.
func (e *Existing) inline(f field, fetch func(External) ([]byte, error)) ([][]byte, error) {
	all, err := fields(f.value)
	if err != nil {
		return nil, err
	}
	where := External{Length: -1}
	external := false
	var kept []byte
	for _, part := range all {
		switch part.number {
		case 9: // an external tensor has no elements of its own
		case 13:
			if err := where.read(part.value); err != nil {
				return nil, err
			}
		case 14:
			external = part.varint == 1
		case 8:
			where.Tensor = string(part.value)
			kept = append(kept, part.raw...)
		default:
			kept = append(kept, part.raw...)
		}
	}
	if !external {
		return [][]byte{f.raw}, nil
	}
	if fetch == nil {
		return nil, fmt.Errorf("the weight %q lies in another file, %q", where.Tensor, where.Location)
	}
	raw, err := fetch(where)
	if err != nil {
		return nil, fmt.Errorf("the weight %q: %w", where.Tensor, err)
	}
	kept = protowire.AppendTag(kept, 9, protowire.BytesType)
	kept = protowire.AppendVarint(kept, uint64(len(raw)))
	head := protowire.AppendTag(nil, 5, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(kept)+len(raw)))
	return [][]byte{append(head, kept...), raw}, nil
}

// FreePrefix is a prefix that no value of the model begins with.
func (e *Existing) FreePrefix() string {
	prefix := "conclave."
	for taken := true; taken; {
		taken = false
		for name := range e.names {
			if strings.HasPrefix(name, prefix) {
				taken = true
				prefix = "_" + prefix
				break
			}
		}
	}
	return prefix
}
