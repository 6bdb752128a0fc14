package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/models/convert/bert"
	"example.org/conclave/models/convert/tensors"
)

// A late expert (Khattab & Zaharia 2020, "ColBERT") gives a text one vector
// for each of its tokens. A passage's score is a sum over the question's
// tokens. Each contributes its largest inner product with any token of the
// passage, weighted by the importance of the question's token. Such an expert is trained
// as a head on a base, so it travels as a delta that brings the head's tensors
// (bert.LateNames) and may change the base's like any other.

// The lengths that a token's vector may have. The comparison takes four numbers at
// a time.
const (
	lateStep    = 4
	lateLongest = 256
)

// LateGraph returns the graph of a late expert that a merge writes, in the given
// file, on a base whose vectors have the given dimension.
func LateGraph(file string, base int) Graph {
	g := DefaultGraph(file)
	g.Pooled = bert.Embedding
	g.Embedding = bert.Tokens
	g.PooledDimension = base
	return g
}

// graph returns a graph of this kind of expert on a base, as this package writes it.
func (m *Manifest) graph(file string, base *tower) Graph {
	if m.Kind == KindLate {
		return LateGraph(file, base.config.Output())
	}
	return DefaultGraph(file)
}

// headOf returns what follows the last layer of the encoders that m describes. The
// encoders of a late expert pool as its base does.
func headOf(m *Manifest, base *tower) bert.Head {
	switch m.Kind {
	case KindLate:
		return bert.Head{
			Pooling:   cmp.Or(base.pooling, PoolingCLS),
			Normalise: value(base.normalise, false),
			Late:      m.Dimension,
		}
	case KindReader:
		return bert.Head{Reader: true, Selects: m.Reader.Select != ""}
	}
	return bert.Head{Pooling: m.Pooling, Normalise: m.Normalise}
}

func (m *Manifest) validateLate(fail func(key, format string, a ...any)) {
	if m.Pooling != PoolingTokens {
		fail("pooling", "%q; a late expert's is %q", m.Pooling, PoolingTokens)
	}
	if !m.Normalise {
		fail("normalise", "false; the tokens' vectors of a late expert have unit length")
	}
	if m.Dimension > lateLongest || m.Dimension%lateStep != 0 {
		fail("dimension", "%d; that of a late expert is a multiple of %d and at most %d", m.Dimension, lateStep, lateLongest)
	}
	if m.Ensemble != nil {
		fail("ensemble", "a late expert has none: members are made of one vector a text")
	}
	if m.Representatives != "" {
		fail("representatives", "a late expert has none")
	}
}

// heads returns the tensors that an expert of this kind has and its base lacks, over
// rows of length width.
func (m *Manifest) heads(width int) []tensors.Named {
	switch m.Kind {
	case KindLate:
		return bert.LateNames(m.Dimension, width)
	case KindReader:
		return bert.ReaderNames(width, true)
	}
	return nil
}

// suits compares the tensors that the base lacks with the kind of expert: a
// late one brings its head's, all of them and for both sides, so does a reader,
// and a dense one brings none.
func (u update) suits(m *Manifest) error {
	fresh := map[string][]int{}
	for _, tower := range slices.Sorted(maps.Keys(u)) {
		for _, name := range slices.Sorted(maps.Keys(u[tower])) {
			switch c := u[tower][name]; {
			case c.fresh == nil:
			case m.Kind == KindDense:
				return fmt.Errorf("tensor %q is new; a %s expert has the base's tensors alone", tower+"."+name+".new", m.Kind)
			default:
				fresh[name] = c.shape
			}
		}
	}
	wanted := m.heads(0)
	if len(wanted) == 0 {
		return nil
	}
	if u[sharedTower] == nil {
		return fmt.Errorf(
			"a %s has one encoder for both sides: its tensors' names begin with %q",
			m.kindInWords(),
			sharedTower+".",
		)
	}
	// How long the base's rows are is seen when the delta is merged; here all
	// must agree with one of them.
	width := 0
	if shape := fresh[wanted[0].Name]; len(shape) == 2 {
		width = shape[1]
	}
	for _, want := range m.heads(width) {
		full := sharedTower + "." + want.Name + ".new"
		shape, ok := fresh[want.Name]
		switch delete(fresh, want.Name); {
		case !ok:
			return fmt.Errorf("a %s needs the tensor %q, and there is none", m.kindInWords(), full)
		case !slices.Equal(shape, want.Shape):
			return fmt.Errorf("tensor %q has shape %v; %v is needed", full, shape, want.Shape)
		}
	}
	if len(fresh) > 0 {
		return fmt.Errorf(
			"tensor %q is new, and a %s has no such tensor",
			sharedTower+"."+slices.Sorted(maps.Keys(fresh))[0]+".new",
			m.kindInWords(),
		)
	}
	return nil
}

func (m *Manifest) kindInWords() string {
	if m.Kind == KindLate {
		return "late expert"
	}
	return m.Kind
}
