package convert

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/onnx"
)

// batchScaled are operators that use one scale for a whole batch, so that the vector of a text depends on the other
// texts.
var batchScaled = []string{"DynamicQuantizeLinear", "DynamicQuantizeMatMul"}

// oldestOpset is the oldest operator set that has every operator of a pooling tail.
const oldestOpset = 9

// planExport finds out the inputs and outputs of the model, chooses the output to use, adds to the model what is
// missing behind it, and reads the weights into it. It fails if the model cannot be used (*KindError: it gives no
// vectors) or the choice is open (*UndecidedError: the pooling).
func (e *exportedModel) planExport(o Options) error {
	if err := e.planInputs(); err != nil {
		return err
	}
	if err := e.planOutput(o); err != nil {
		return err
	}
	e.graph.OneByOne = e.model.Uses(batchScaled...)
	dims := e.output.Shape()
	if d := dims[len(dims)-1]; d.Size > 0 {
		e.config.Dimension = int(d.Size)
	} else if e.config.Dimension <= 0 {
		return fmt.Errorf("the last axis of output %s has no fixed length, and no config.json says hidden_size",
			onnx.Describe(e.output))
	}
	if d := dims[0]; d.Size > 0 {
		return fmt.Errorf("output %s is for %d texts a call: export with a dynamic batch axis", onnx.Describe(e.output), d.Size)
	}
	e.normalise = e.unitLength(o)
	for _, set := range e.model.Opsets {
		if set.Domain == "" && set.Version < oldestOpset && (e.pooling != "" || e.normalise) {
			return fmt.Errorf(
				"operator set %d is too old for pooling to be added; %d or newer is needed", set.Version, oldestOpset,
			)
		}
	}
	e.extendGraph()
	return e.embedWeights()
}

// planInputs sets the names of the graph's inputs in e.graph. It fails if the model wants an input that cannot be
// given, or one of another type or shape, or lacks input_ids or attention_mask.
func (e *exportedModel) planInputs() error {
	e.graph = models.Graph{}
	for _, v := range e.model.Given() {
		switch v.Name {
		case "input_ids":
			e.graph.InputIDs = v.Name
		case "attention_mask":
			e.graph.AttentionMask = v.Name
		case "token_type_ids":
			e.graph.TokenTypeIDs = v.Name
		default:
			return fmt.Errorf(
				"it wants the input %s; only input_ids, attention_mask and token_type_ids can be given",
				onnx.Describe(v),
			)
		}
		if v.Elem() != onnx.Int64 && v.Elem() != onnx.Int32 {
			return fmt.Errorf("input %s: int64 or int32 is needed", onnx.Describe(v))
		}
		if v.Shape() != nil && len(v.Shape()) != 2 {
			return fmt.Errorf("input %s: two axes are needed, batch and sequence", onnx.Describe(v))
		}
		for _, d := range v.Shape() {
			if d.Size > 0 {
				return fmt.Errorf(
					"input %s has an axis of fixed length: export with dynamic axes for batch and sequence",
					onnx.Describe(v),
				)
			}
		}
	}
	if e.graph.InputIDs == "" || e.graph.AttentionMask == "" {
		return fmt.Errorf("it has the inputs %s; input_ids and attention_mask are needed", onnx.Describe(e.model.Given()...))
	}
	return nil
}

// planOutput sets e.output and e.pooling: a pooled output, [batch, dimension], is used as it is; to one with a
// vector for each token, [batch, sequence, dimension], a pooling is added. It fails if no output fits, or several
// do, or the pooling is open (*UndecidedError) or impossible.
func (e *exportedModel) planOutput(o Options) error {
	var pooled, tokens []*onnx.Value
	var other error // an output that makes it a model of another kind
	for _, v := range e.model.Graph.Outputs {
		if v.Elem() != onnx.Float && v.Elem() != onnx.Float16 {
			continue
		}
		if kind := e.scoreProblem(v); kind != nil {
			other = kind
			continue
		}
		switch len(v.Shape()) {
		case 2:
			pooled = append(pooled, v)
		case 3:
			tokens = append(tokens, v)
		}
	}
	named := func(from []*onnx.Value, names ...string) bool {
		i := slices.IndexFunc(from, func(v *onnx.Value) bool { return slices.Contains(names, v.Name) })
		if i >= 0 {
			e.output = from[i]
		}
		return i >= 0
	}
	pooling := cmp.Or(o.Pooling, e.checkpoint.pooling)
	switch {
	case len(pooled)+len(tokens) == 0 && other != nil:
		return other
	case o.Output != "":
		if named(pooled, o.Output) {
			return nil
		}
		if !named(tokens, o.Output) {
			return fmt.Errorf(
				"it has no output %q of vectors; its outputs are %s", o.Output, onnx.Describe(e.model.Graph.Outputs...),
			)
		}
	case o.Pooling == "" && named(pooled, "sentence_embedding", "embedding", "embeddings"):
		return nil
	case pooling == models.PoolingPooler && named(pooled, "pooler_output"):
		e.pooling = models.PoolingPooler // done by the model
		return nil
	case len(tokens) == 0 && len(pooled) == 1 && o.Pooling == "":
		e.output = pooled[0]
		return nil
	case pooling != models.PoolingPooler && (len(tokens) == 1 || named(tokens, "last_hidden_state", "token_embeddings")):
		if len(tokens) == 1 {
			e.output = tokens[0]
		}
	default:
		return fmt.Errorf(
			"which output has the vectors? It has %s; name one of shape [batch, dimension] or [batch, sequence, dimension]",
			onnx.Describe(e.model.Graph.Outputs...),
		)
	}
	switch e.pooling, _ = e.poolingOf(o); e.pooling {
	case models.PoolingCLS, models.PoolingMean:
		return nil
	case "":
		return &UndecidedError{
			Setting: models.SettingPooling,
			Reason: fmt.Sprintf(
				"output %s has one vector a token, and %s has no 1_Pooling/config.json that says how they become one; the model's card does: cls (the first token's) or mean",
				onnx.Describe(e.output), e.dir,
			),
		}
	}
	return fmt.Errorf(
		"output %s has one vector a token; it can be pooled by cls or mean, not %q", onnx.Describe(e.output), pooling,
	)
}

// scoreProblem returns the *KindError of a model whose output v has a score for each word piece or each class
// instead of vectors; nil if v may be vectors.
func (e *exportedModel) scoreProblem(v *onnx.Value) error {
	dims := v.Shape()
	if len(dims) == 0 {
		return nil
	}
	last := dims[len(dims)-1].Size
	switch words := int64(e.tokenizer.pieces); {
	case last > 0 && words >= fewestPieces && (last == words || last == int64(e.config.Vocabulary)):
		return &KindError{
			What: fmt.Sprintf(
				"a model with a score for each word piece (output %s), a masked language model or a sparse encoder such as SPLADE",
				onnx.Describe(v),
			),
			Possible: sparsePossible,
		}
	case v.Name == "logits":
		return &KindError{
			What: fmt.Sprintf(
				"a model with scores for classes or words (output %s), such as a cross-encoder, which makes no vectors",
				onnx.Describe(v),
			),
			Possible: "Export the encoder itself, as a model for feature extraction (the task feature-extraction of optimum)",
		}
	}
	return nil
}

// fewestPieces is the least size of a vocabulary that is taken for one: dimensions of vectors are smaller.
const fewestPieces = 5000

// extendGraph changes the model so that its inputs are 64-bit integers and its only output is float32 [batch,
// dimension], pooled and scaled to unit length as e says, and sets e.graph.Embedding.
func (e *exportedModel) extendGraph() {
	g := e.model.Graph
	e.model.IRVersion = max(e.model.IRVersion, 4) // for constants that are no inputs
	prefix := e.model.FreePrefix()
	e.widenInputs(prefix)
	tail := onnx.Tail{Graph: g, Prefix: prefix}
	current := e.output.Name
	if e.output.Elem() != onnx.Float {
		current = tail.Float32(current)
	}
	if len(e.output.Shape()) == 3 {
		if e.pooling == models.PoolingMean {
			current = tail.Mean(current, "attention_mask")
		} else {
			current = tail.First(current)
		}
	}
	if e.normalise {
		current = tail.UnitLength(current, e.config.Dimension)
	}
	e.graph.Embedding = current
	g.Outputs = []*onnx.Value{onnx.NewValue(current, onnx.Float, onnx.Varying("batch"), onnx.Fixed(e.config.Dimension))}
}

// widenInputs adds casts before the inputs of a model that takes 32-bit integers, since callers give 64-bit ones,
// and sets the inputs' new names in e.graph. prefix begins the names of new values. Other models stay as they are.
func (e *exportedModel) widenInputs(prefix string) {
	g := e.model.Graph
	inputs := e.model.Given()
	if !slices.ContainsFunc(inputs, func(v *onnx.Value) bool { return v.Elem() == onnx.Int32 }) {
		return
	}
	g.Inputs = nil
	var casts onnx.Graph
	for _, v := range inputs {
		name := v.Name
		if v.Elem() == onnx.Int32 {
			name = prefix + v.Name
			for _, input := range []*string{&e.graph.InputIDs, &e.graph.AttentionMask, &e.graph.TokenTypeIDs} {
				if *input == v.Name {
					*input = name
				}
			}
			casts.Add("Cast", v.Name, []string{name}, onnx.Int("to", int64(onnx.Int32)))
		}
		g.Inputs = append(g.Inputs, onnx.NewValue(name, onnx.Int64, onnx.Varying("batch"), onnx.Varying("sequence")))
	}
	g.Nodes = append(casts.Nodes, g.Nodes...)
}
