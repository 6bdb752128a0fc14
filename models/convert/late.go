package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tensors"
)

// DefaultGraph returns the description of the graph that Import writes into a file of this name for a dense or
// sparse expert.
func DefaultGraph(file string) models.Graph {
	return models.Graph{
		File:          file,
		InputIDs:      "input_ids",
		AttentionMask: "attention_mask",
		TokenTypeIDs:  "token_type_ids",
		Embedding:     "embedding",
	}
}

// LateGraph returns the description of the graph that a merge writes into a file of this name for a late expert.
// base is the dimension of the base's pooled vectors, which the graph also gives, next to the token vectors.
func LateGraph(file string, base int) models.Graph {
	g := DefaultGraph(file)
	g.Pooled = bert.Embedding
	g.Embedding = bert.Tokens
	g.PooledDimension = base
	return g
}

// graphOf returns the description of the graph that a merge writes into a file of this name for an expert of m's
// kind on a base: LateGraph or DefaultGraph.
func graphOf(m *models.Manifest, file string, base *tower) models.Graph {
	if m.Kind == models.KindLate {
		return LateGraph(file, base.config.Output())
	}
	return DefaultGraph(file)
}

// headOf returns the head behind the last layer of the encoders that m describes; m must not be of the kind
// desire-me or generator, or reranker. The encoders of a late expert pool as its base does, or by the first token
// where that is unknown.
func headOf(m *models.Manifest, base *tower) bert.Head {
	switch m.Kind {
	case models.KindLate:
		return bert.Head{
			Pooling:   cmp.Or(base.pooling, models.PoolingCLS),
			Normalise: valueOr(base.normalise, false),
			Late:      m.Dimension(),
		}
	case models.KindReader:
		return bert.Head{Reader: true, Selects: m.Reader.Graph.Select != ""}
	case models.KindSparse:
		return bert.Head{Sparse: true}
	}
	return bert.Head{Pooling: m.Vectors.Pooling, Normalise: m.Vectors.Normalise}
}

// headTensors returns the names and shapes of the tensors that a late expert or a reader, by m's kind, adds to its
// base, whose rows have width numbers; nil for other kinds.
func headTensors(m *models.Manifest, width int) []tensors.TensorShape {
	switch m.Kind {
	case models.KindLate:
		return bert.LateNames(m.Dimension(), width)
	case models.KindReader:
		return bert.ReaderNames(width, true)
	}
	return nil
}

// checkSuits returns an error unless u has exactly the new tensors that an expert of m's kind has: a late expert
// and a reader those of headTensors, for both sides, and a dense one none. Whether their shapes fit the base is
// checked by checkFit, when the base is known.
func (u update) checkSuits(m *models.Manifest) error {
	fresh := map[string][]int{}
	for _, tower := range slices.Sorted(maps.Keys(u)) {
		for _, name := range slices.Sorted(maps.Keys(u[tower])) {
			switch c := u[tower][name]; {
			case c.fresh == nil:
			case m.Kind == models.KindDense:
				return fmt.Errorf("tensor %q is new; a %s expert has the base's tensors alone", tower+"."+name+".new", m.Kind)
			default:
				fresh[name] = c.shape
			}
		}
	}
	wanted := headTensors(m, 0)
	if len(wanted) == 0 {
		return nil
	}
	if u[sharedTower] == nil {
		return fmt.Errorf(
			"%s has one encoder for both sides: its tensors' names begin with %q", m.KindInWords(), sharedTower+".",
		)
	}
	// How long the base's rows are is seen when the delta is merged; here all
	// must agree with one of them.
	width := 0
	if shape := fresh[wanted[0].Name]; len(shape) == 2 {
		width = shape[1]
	}
	for _, want := range headTensors(m, width) {
		full := sharedTower + "." + want.Name + ".new"
		shape, ok := fresh[want.Name]
		switch delete(fresh, want.Name); {
		case !ok:
			return fmt.Errorf("%s needs the tensor %q, and there is none", m.KindInWords(), full)
		case !slices.Equal(shape, want.Shape):
			return fmt.Errorf("tensor %q has shape %v; %v is needed", full, shape, want.Shape)
		}
	}
	if len(fresh) > 0 {
		return fmt.Errorf(
			"tensor %q is new, and %s has no such tensor", sharedTower+"."+slices.Sorted(maps.Keys(fresh))[0]+".new",
			m.KindInWords(),
		)
	}
	return nil
}
