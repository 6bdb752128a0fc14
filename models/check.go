package models

import (
	"errors"
	"fmt"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models/convert/onnx"
)

// Check reads the files of the bundle and returns all errors where they contradict its manifest: graphs must hold
// their weights and have the inputs and outputs that it names, in the promised types and shapes, and
// representatives must fit the base that it names. A delta's changes are not read. Load only verifies that the
// files are those that were written; Check is for bundles that others wrote. It reads whole files into memory, at
// most MaxGraphBytes of each.
func (b *Bundle) Check() error {
	m := &b.Manifest
	var all []error
	switch {
	case m.Delta != "": // models/convert reads it
	case m.Generator != nil:
		all = append(all, b.checkGenerator()...)
	case m.Head == nil:
		all = append(all, b.checkEncoders()...)
		if _, err := b.Representatives(); err != nil {
			all = append(all, err)
		}
	}
	if h := m.Head; h != nil {
		all = append(all, b.checkGraph(h.File,
			[]*onnx.Value{onnx.NewValue(HeadInput, onnx.Float, onnx.Varying(""), onnx.Fixed(m.Dimension()))},
			onnx.NewValue(HeadVector, onnx.Float, onnx.Varying(""), onnx.Fixed(m.Dimension())),
			onnx.NewValue(HeadGate, onnx.Float, onnx.Varying(""), onnx.Fixed(len(h.Domains)))))
	}
	if v := m.Vectors; v != nil && v.Ensemble != nil {
		e := v.Ensemble
		all = append(all, b.checkGraph(e.File,
			[]*onnx.Value{onnx.NewValue(EnsembleInput, onnx.Float, onnx.Varying(""), onnx.Fixed(m.Dimension()))},
			onnx.NewValue(EnsembleOutput, onnx.Float, onnx.Varying(""), onnx.Fixed(e.Members), onnx.Fixed(m.Dimension()))))
	}
	return errors.Join(all...)
}

// checkEncoders returns what is wrong with the graphs of a reader, a reranker or an expert with vectors, an element
// for each graph; nil elements are no errors. A graph that serves both sides is checked once.
func (b *Bundle) checkEncoders() (all []error) {
	m := &b.Manifest
	open := onnx.Varying("")
	if r := m.Reader; r != nil {
		g := r.Graph
		outputs := []*onnx.Value{onnx.NewValue(g.Start, onnx.Float, open, open), onnx.NewValue(g.End, onnx.Float, open, open)}
		if g.Select != "" {
			outputs = append(outputs, onnx.NewValue(g.Select, onnx.Float, open))
		}
		return []error{b.checkGraph(g.File, inputsOf(g.InputIDs, g.AttentionMask, g.TokenTypeIDs), outputs...)}
	}
	if r := m.Reranker; r != nil {
		g := r.Graph
		inputs := inputsOf(g.InputIDs, g.AttentionMask, g.TokenTypeIDs)
		return []error{b.checkGraph(g.File, inputs, onnx.NewValue(g.Score, onnx.Float, open))}
	}
	graphs := []Graph{m.Vectors.Question}
	if m.Vectors.Passage.File != m.Vectors.Question.File {
		graphs = append(graphs, m.Vectors.Passage)
	}
	for _, g := range graphs {
		outputs := []*onnx.Value{onnx.NewValue(g.Embedding, onnx.Float, open, onnx.Fixed(m.Vectors.Dimension))}
		if m.Kind == KindLate {
			outputs[0] = onnx.NewValue(g.Embedding, onnx.Float, open, open, onnx.Fixed(m.Dimension()+1))
		}
		if g.Pooled != "" {
			outputs = append(outputs, onnx.NewValue(g.Pooled, onnx.Float, open, onnx.Fixed(g.PooledDimension)))
		}
		all = append(all, b.checkGraph(g.File, inputsOf(g.InputIDs, g.AttentionMask, g.TokenTypeIDs), outputs...))
	}
	return all
}

// inputsOf returns inputs of tokens with these names, int64 [n, m] of any lengths; a name "" is left out.
func inputsOf(names ...string) (all []*onnx.Value) {
	for _, name := range names {
		if name != "" {
			all = append(all, onnx.NewValue(name, onnx.Int64, onnx.Varying(""), onnx.Varying("")))
		}
	}
	return all
}

// checkGraph returns an error unless the graph in a file of the bundle has exactly these inputs, has these outputs
// and perhaps more, in types and shapes that fit (fitsShape), and holds its own weights. It reads the whole file.
func (b *Bundle) checkGraph(file string, inputs []*onnx.Value, outputs ...*onnx.Value) error {
	path := b.Path(file)
	data, err := disk.ReadRegular(path, MaxGraphBytes)
	if err != nil {
		return err
	}
	model, err := onnx.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, t := range model.Graph.Initialisers {
		if from, err := t.File(); from != nil || err != nil {
			return errors.Join(
				fmt.Errorf("%s: the weight %q lies in another file: a bundle's graphs hold their weights", path, t.Name),
				err,
			)
		}
	}
	for _, side := range []struct {
		what        string
		have, wants []*onnx.Value
	}{{"inputs", model.Given(), inputs}, {"outputs", model.Graph.Outputs, outputs}} {
		if side.what == "inputs" && len(side.have) != len(inputs) {
			return fmt.Errorf(
				"%s has the inputs %s; the manifest has %s", path, onnx.Describe(side.have...),
				onnx.Describe(inputs...),
			)
		}
		for _, want := range side.wants {
			if !slices.ContainsFunc(side.have, func(v *onnx.Value) bool { return fitsShape(v, want) }) {
				return fmt.Errorf(
					"%s has the %s %s; the manifest wants %s", path, side.what, onnx.Describe(side.have...),
					onnx.Describe(want),
				)
			}
		}
	}
	return nil
}

// fitsShape reports whether v has the name and type of want and a shape that allows want's: as many axes, each of
// the same length or open in v. A v without a shape fits.
func fitsShape(v, want *onnx.Value) bool {
	return v.Name == want.Name && v.Elem() == want.Elem() && (v.Shape() == nil ||
		slices.EqualFunc(v.Shape(), want.Shape(), func(has, wants *onnx.Dim) bool {
			return has.Size <= 0 ||
				has.Size == wants.Size
		}))
}
