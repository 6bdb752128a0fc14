package models

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"conclave/models/ensemble"
	"conclave/models/onnx"
)

// Check holds the files of the bundle against its manifest: that its graphs
// have the inputs and outputs it names, in the types and shapes it promises;
// that a delta and representatives are what the base named there allows. Load
// has verified that they are the files that were written; this is for bundles
// written by others. It reads the files into memory.
func (b *Bundle) Check() error {
	m := &b.Manifest
	var all []error
	if m.Delta != "" {
		// Whether it fits its base is seen when it is merged.
		if _, err := OpenDelta(os.DirFS(b.Dir)); err != nil {
			all = append(all, fmt.Errorf("%s: %w", b.Dir, err))
		}
	} else {
		all = append(all, b.checkEncoders()...)
		if _, err := b.Representatives(); err != nil {
			all = append(all, err)
		}
	}
	if e := m.Ensemble; e != nil {
		d := onnx.Fixed(int64(m.Dimension))
		all = append(all, b.checkGraph(e.File,
			[]onnx.Value{{Name: ensemble.Input, Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying(""), d}}},
			onnx.Value{Name: ensemble.Output, Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying(""), onnx.Fixed(int64(e.Members)), d}}))
	}
	return errors.Join(all...)
}

func (b *Bundle) checkEncoders() (all []error) {
	m := &b.Manifest
	graphs := []Graph{m.Question}
	if m.Passage.File != m.Question.File {
		graphs = append(graphs, m.Passage)
	}
	for _, g := range graphs {
		inputs := []onnx.Value{}
		for _, name := range []string{g.InputIDs, g.AttentionMask, g.TokenTypeIDs} {
			if name != "" {
				inputs = append(inputs, onnx.Value{Name: name, Type: onnx.Int64, Shape: []onnx.Dim{onnx.Varying(""), onnx.Varying("")}})
			}
		}
		shape := []onnx.Dim{onnx.Varying(""), onnx.Fixed(int64(m.Dimension))}
		if m.Kind == KindLate {
			shape = []onnx.Dim{onnx.Varying(""), onnx.Varying(""), onnx.Fixed(int64(m.Dimension) + 1)}
		}
		outputs := []onnx.Value{{Name: g.Embedding, Type: onnx.Float, Shape: shape}}
		if g.Pooled != "" {
			outputs = append(outputs, onnx.Value{Name: g.Pooled, Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying(""), onnx.Fixed(int64(g.PooledDimension))}})
		}
		all = append(all, b.checkGraph(g.File, inputs, outputs...))
	}
	return all
}

func (b *Bundle) checkGraph(file string, inputs []onnx.Value, outputs ...onnx.Value) error {
	data, err := os.ReadFile(b.Path(file))
	if err != nil {
		return err
	}
	e, err := onnx.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Path(file), err)
	}
	if len(e.External) > 0 {
		return fmt.Errorf("%s: the weight %q lies in another file, %q: a bundle's graphs hold their weights", b.Path(file), e.External[0].Tensor, e.External[0].Location)
	}
	if len(e.Inputs) != len(inputs) {
		return fmt.Errorf("%s has the inputs %s; the manifest has %s", b.Path(file), describe(e.Inputs), describe(inputs))
	}
	for _, want := range inputs {
		if !slices.ContainsFunc(e.Inputs, func(v onnx.Value) bool { return fits(v, want) }) {
			return fmt.Errorf("%s has the inputs %s; the manifest wants %s", b.Path(file), describe(e.Inputs), describe([]onnx.Value{want}))
		}
	}
	for _, want := range outputs {
		if !slices.ContainsFunc(e.Outputs, func(v onnx.Value) bool { return fits(v, want) }) {
			return fmt.Errorf("%s has the outputs %s; the manifest wants %s", b.Path(file), describe(e.Outputs), describe([]onnx.Value{want}))
		}
	}
	return nil
}

// fits says whether v can be used as want: an axis that v leaves open fits
// any length.
func fits(v, want onnx.Value) bool {
	if v.Name != want.Name || v.Type != want.Type {
		return false
	}
	if v.Shape == nil {
		return true
	}
	if len(v.Shape) != len(want.Shape) {
		return false
	}
	for i, d := range v.Shape {
		if d.Size >= 0 && d.Size != want.Shape[i].Size {
			return false
		}
	}
	return true
}
