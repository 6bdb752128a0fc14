package models

import (
	"fmt"
	"slices"

	"conclave/models/onnx"
)

// batchScaled are operators that fit one scale to a whole batch, so that a
// text's vector depends on the texts beside it.
var batchScaled = []string{"DynamicQuantizeLinear", "DynamicQuantizeMatMul"}

// oldestOpset has every operator that a pooling tail needs.
const oldestOpset = 9

// plan detects what the model takes and gives, checks it, and chooses the
// output and what is to be put behind it.
func (e *exported) plan(o ImportOptions) error {
	if err := e.planInputs(); err != nil {
		return err
	}
	if err := e.planOutput(o); err != nil {
		return err
	}
	e.graph.OneByOne = slices.ContainsFunc(batchScaled, func(op string) bool { return e.model.Operators[op] })
	dims := e.output.Shape
	if d := dims[len(dims)-1]; d.Size > 0 {
		e.config.Dimension = int(d.Size)
	} else if e.config.Dimension <= 0 {
		return fmt.Errorf("the last axis of output %s has no fixed length, and no config.json says hidden_size", describe([]onnx.Value{e.output}))
	}
	if d := dims[0]; d.Size >= 0 {
		return fmt.Errorf("output %s is for %d texts a call: export with a dynamic batch axis", describe([]onnx.Value{e.output}), d.Size)
	}
	e.normalise = value(o.Normalise, e.checkpoint.normalise)
	for _, set := range e.model.Opsets {
		if set.Domain == "" && set.Version < oldestOpset && (e.pooling != "" || e.normalise) {
			return fmt.Errorf("operator set %d is too old for pooling to be added; %d or newer is needed", set.Version, oldestOpset)
		}
	}
	e.extend()
	return nil
}

func (e *exported) planInputs() error {
	e.graph = Graph{}
	for _, v := range e.model.Inputs {
		switch v.Name {
		case "input_ids":
			e.graph.InputIDs = v.Name
		case "attention_mask":
			e.graph.AttentionMask = v.Name
		case "token_type_ids":
			e.graph.TokenTypeIDs = v.Name
		default:
			return fmt.Errorf("it wants the input %s; only input_ids, attention_mask and token_type_ids can be given", describe([]onnx.Value{v}))
		}
		if v.Type != onnx.Int64 && v.Type != onnx.Int32 {
			return fmt.Errorf("input %s: int64 or int32 is needed", describe([]onnx.Value{v}))
		}
		if v.Shape != nil && len(v.Shape) != 2 {
			return fmt.Errorf("input %s: two axes are needed, batch and sequence", describe([]onnx.Value{v}))
		}
		for _, d := range v.Shape {
			if d.Size >= 0 {
				return fmt.Errorf("input %s has an axis of fixed length: export with dynamic axes for batch and sequence", describe([]onnx.Value{v}))
			}
		}
	}
	if e.graph.InputIDs == "" || e.graph.AttentionMask == "" {
		return fmt.Errorf("it has the inputs %s; input_ids and attention_mask are needed", describe(e.model.Inputs))
	}
	return nil
}

// planOutput chooses an output. A pooled one, [batch, dimension], is taken as
// it is; behind one vector a token, [batch, sequence, dimension], comes a
// pooling.
func (e *exported) planOutput(o ImportOptions) error {
	var pooled, tokens []onnx.Value
	for _, v := range e.model.Outputs {
		if v.Type != onnx.Float && v.Type != onnx.Float16 {
			continue
		}
		switch len(v.Shape) {
		case 2:
			pooled = append(pooled, v)
		case 3:
			tokens = append(tokens, v)
		}
	}
	named := func(from []onnx.Value, names ...string) bool {
		i := slices.IndexFunc(from, func(v onnx.Value) bool { return slices.Contains(names, v.Name) })
		if i >= 0 {
			e.output = from[i]
		}
		return i >= 0
	}
	pooling := or(o.Pooling, e.checkpoint.pooling)
	switch {
	case o.Output != "":
		if named(pooled, o.Output) {
			return nil
		}
		if !named(tokens, o.Output) {
			return fmt.Errorf("it has no output %q of vectors; its outputs are %s", o.Output, describe(e.model.Outputs))
		}
	case o.Pooling == "" && named(pooled, "sentence_embedding", "embedding", "embeddings"):
		return nil
	case pooling == PoolingPooler && named(pooled, "pooler_output"):
		e.pooling = PoolingPooler // done by the model
		return nil
	case len(tokens) == 0 && len(pooled) == 1 && o.Pooling == "":
		e.output = pooled[0]
		return nil
	case pooling != PoolingPooler && (len(tokens) == 1 || named(tokens, "last_hidden_state", "token_embeddings")):
		if len(tokens) == 1 {
			e.output = tokens[0]
		}
	default:
		return fmt.Errorf("which output has the vectors? It has %s; name one of shape [batch, dimension] or [batch, sequence, dimension]", describe(e.model.Outputs))
	}
	switch e.pooling = or(pooling, PoolingCLS); e.pooling {
	case PoolingCLS, PoolingMean:
		return nil
	}
	return fmt.Errorf("output %s has one vector a token; it can be pooled by cls or mean, not %q", describe([]onnx.Value{e.output}), pooling)
}

// extend builds what is added to the model: its output is then float32
// [batch, dimension].
func (e *exported) extend() {
	x := &e.extension
	x.Fetch = e.fetch
	prefix := e.model.FreePrefix()
	e.widenInputs(prefix)
	tail := onnx.Tail{Graph: &x.After, Prefix: prefix}
	current := e.output.Name
	if e.output.Type != onnx.Float {
		current = tail.Float32(current)
	}
	if len(e.output.Shape) == 3 {
		if e.pooling == PoolingMean {
			current = tail.Mean(current, "attention_mask")
		} else {
			current = tail.First(current)
		}
	}
	if e.normalise {
		current = tail.UnitLength(current, e.config.Dimension)
	}
	e.graph.Embedding = current
	x.Outputs = []onnx.Value{{Name: current, Type: onnx.Float, Shape: []onnx.Dim{onnx.Varying("batch"), onnx.Fixed(int64(e.config.Dimension))}}}
}

// widenInputs puts casts before a model that takes 32-bit integers: callers
// give 64-bit ones.
func (e *exported) widenInputs(prefix string) {
	x := &e.extension
	if !slices.ContainsFunc(e.model.Inputs, func(v onnx.Value) bool { return v.Type == onnx.Int32 }) {
		return
	}
	shape := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	for _, v := range e.model.Inputs {
		name := v.Name
		if v.Type == onnx.Int32 {
			name = prefix + v.Name
			e.graph.rename(v.Name, name)
			x.Before.Nodes = append(x.Before.Nodes, onnx.Node{
				Name: prefix + "cast." + v.Name, Op: "Cast", Inputs: []string{name}, Outputs: []string{v.Name},
				Attributes: []onnx.Attribute{{Name: "to", Value: int64(onnx.Int32)}},
			})
		}
		x.Inputs = append(x.Inputs, onnx.Value{Name: name, Type: onnx.Int64, Shape: shape})
	}
}

func (g *Graph) rename(old, name string) {
	for _, input := range []*string{&g.InputIDs, &g.AttentionMask, &g.TokenTypeIDs} {
		if *input == old {
			*input = name
		}
	}
}
