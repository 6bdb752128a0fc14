package fusion

import (
	"fmt"
	"math"
	"slices"
)

// gateMethod returns the entry of MethodGate in Methods: a sum of all sources' scores, weighed by the fitted gate for
// these sources (Gated), of the Settings.Specialists most familiar specialists alone if that is above 0. Only rankings
// of Settings.Gate get confidences.
func gateMethod() Method {
	return Method{
		Name:  MethodGate,
		words: true, completes: true, gated: true,
		Variants: []Variant{{Name: "gate"}},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			if s.Specialists > 0 {
				in.Sources = MostFamiliar(in.Sources, s.Specialists)
			}
			gate := s.gateFor(in.Sources)
			ranking, err := Gated(in.Table, gate, in.Sources, s.Missing, k)
			if err == nil && gate == s.Gate { // the chances were fitted to this gate's answers
				err = s.giveChances(&ranking, in, k)
			}
			return ranking, err
		},
	}
}

// gateFor returns the gate for these sources: s.GateWithoutLate if late interaction is not among them and that gate is
// set, otherwise s.Gate, which may be nil.
func (s *Settings) gateFor(sources []ObservedSource) *Gate {
	late := slices.ContainsFunc(sources, func(o ObservedSource) bool { return o.Kind == Late })
	if !late && s.GateWithoutLate != nil {
		return s.GateWithoutLate
	}
	return s.Gate
}

// giveChances sets the confidences of a gate's ranking, if chances were fitted for these sources and they scored enough
// random passages; otherwise they stay nil. An empty ranking has the confidence 0 where chances were fitted.
// r.Answerable is set where a chance that there is an answer was fitted for these sources, and r.Any only if k is above
// 1. It fails if a fitted chance does not take the signals.
func (s *Settings) giveChances(r *Ranking, in Input, k int) error {
	near := Closeness(in.Sources)
	if s.Foreign {
		near, _ = ForeignCloseness(in.Sources)
	}
	if s.CloseOnly && len(r.Items) > 0 { // it was fitted to passages that all sources read
		near = near && !in.Table.IsEstimated(in.Sources, r.Items[0].Ordinal)
	}
	fitted := s.Chances != nil && (!s.CloseOnly || near)
	if len(r.Items) == 0 && fitted { // of no passages none answers
		none := 0.0
		r.Confidence = &none
		if k > 1 {
			r.Any = &none
		}
	}
	if len(r.Items) == 0 || !Compared(in.Sources) {
		return nil
	}
	if s.Answerable != nil && near {
		chance, err := s.Answerable.Of(Signals(in.Table, in.Sources, *r, in.Wording))
		if err != nil {
			return fmt.Errorf("the chance that there is an answer: %w", err)
		}
		r.Answerable = &chance
	}
	if !fitted {
		return nil
	}
	signals := Signals(in.Table, in.Sources, *r, in.Wording)
	first, err := s.Chances.Of(signals, 1)
	if err != nil {
		return fmt.Errorf("the confidence of the answer: %w", err)
	}
	r.Confidence = &first
	if k > 1 {
		if any, err := s.Chances.Of(signals, k); err == nil {
			r.Any = &any
		}
	}
	return nil
}

// Gate sets the weight of every source for each question. Its coefficients belong to
// kinds of sources, not to names, so that an expert that it was not fitted with takes
// part as soon as it is there.
//
// A dense source's logit is the intercept of its kind plus the products of the
// coefficients with its features; the dense weights are the softmax of the logits, so
// that they add up to 1. BM25's weight is the exponential of its own linear function,
// and that of phrases a fixed share of it: the two are terms of one kind, and a
// separate function for phrases did not help. Nearness has a fixed share
// of BM25's weight, too, and BM25 counts less beside it. Late interaction has a
// weight like BM25's, of its own function: it scores what the others found and
// competes with none of them. The fused score is Σ weight · score over the raw scores.
// A candidate that a source did not return gets its true score there.
//
// The gate was chosen over MUF's weights by confidence and over a fixed α of the
// hybrid by measuring, see docs/evidence/experts.md.
type Gate struct {
	Specialist float64   `yaml:"specialist"        json:"specialist"` // intercepts
	Generalist float64   `yaml:"generalist"        json:"generalist"`
	Base       float64   `yaml:"base"              json:"base"`
	Dense      []float64 `yaml:"dense"             json:"dense"` // by DenseFeatureNames
	Lexical    []float64 `yaml:"lexical"           json:"lexical"`
	Words      float64   `yaml:"words"             json:"words"`           // intercept of BM25's logarithmic weight
	Exact      float64   `yaml:"exact,omitempty"   json:"exact,omitempty"` // what Features.Exact adds to that logarithm
	// what Features.Symbols adds to it
	Symbols float64 `yaml:"symbols,omitempty" json:"symbols,omitempty"`
	// their weight divided by BM25's; 0: they do not count
	Phrases float64 `yaml:"phrases,omitempty" json:"phrases,omitempty"`
	// weight of nearness divided by BM25's, as that is without nearness, in texts that are words; 0: it does not count
	Near float64 `yaml:"near,omitempty" json:"near,omitempty"`
	// what BM25's weight is multiplied by where nearness counts in texts that are words; 0: 1
	BesideNear float64 `yaml:"beside_near,omitempty" json:"beside_near,omitempty"`
	// Spread is the standard deviation of the base's scores of random passages. The weight of a source of another
	// encoder (ObservedSource.Foreign) is multiplied by Spread divided by its own; 0: it is not.
	Spread float64 `yaml:"spread,omitempty" json:"spread,omitempty"`
	// ForeignWords is what the weights of BM25, phrases and nearness are multiplied by where the only dense source is
	// an encoder of its own (ForeignCloseness); 0: 1.
	ForeignWords float64 `yaml:"foreign_words,omitempty" json:"foreign_words,omitempty"`
	// intercept of late interaction's logarithmic weight
	Tokens float64 `yaml:"tokens,omitempty"  json:"tokens,omitempty"`
	// by LateFeatureNames; none: late interaction does not count
	Late []float64 `yaml:"late,omitempty"    json:"late,omitempty"`
}

// Check returns an error if the number of coefficients is wrong or one is out of range.
func (g *Gate) Check() error {
	if len(g.Dense) != denseFeatures {
		return fmt.Errorf("a gate of %d coefficients for dense sources: %d are needed", len(g.Dense), denseFeatures)
	}
	if len(g.Lexical) != lexicalFeatures {
		return fmt.Errorf("a gate of %d coefficients for BM25: %d are needed", len(g.Lexical), lexicalFeatures)
	}
	if !(g.Phrases >= 0 && g.Phrases <= MaxWeight) {
		return fmt.Errorf(
			"a gate's weight of phrases beside words is %v: it must be from 0 to %g", g.Phrases, float64(MaxWeight),
		)
	}
	for name, x := range map[string]float64{
		"nearness": g.Near, "words beside nearness": g.BesideNear, "the base's random scores": g.Spread,
		"words beside another encoder": g.ForeignWords,
	} {
		if !(x >= 0 && x <= MaxWeight) {
			return fmt.Errorf("a gate's weight of %s is %v: it must be from 0 to %g", name, x, float64(MaxWeight))
		}
	}
	if len(g.Late) != 0 && len(g.Late) != lateFeatures {
		return fmt.Errorf("a gate of %d coefficients for late interaction: %d are needed, or none", len(g.Late), lateFeatures)
	}
	for _, list := range [][]float64{{g.Specialist, g.Generalist, g.Base, g.Words, g.Exact, g.Symbols, g.Tokens}, g.Dense,
		g.Lexical, g.Late} {
		for _, x := range list {
			if math.IsNaN(x) || math.Abs(x) > MaxWeight {
				return fmt.Errorf("a gate's coefficient is %v", x)
			}
		}
	}
	return nil
}

// Weigh returns the observed sources with the gate's weights for a question with features f. The result is in the
// memory of into if that is large enough. Fitting a gate uses the same function. The weights of the dense sources add
// up to 1; a source of a kind that the gate was not fitted with has the weight 0.
func (g *Gate) Weigh(into []Source, sources []ObservedSource, f Features) []Source {
	weights := slices.Grow(into[:0], len(sources))[:len(sources)]
	words := 0.0
	if f.Lexical != nil {
		words = math.Exp(min(g.Words+dotProduct(g.Lexical, f.Lexical)+g.Exact*f.Exact+g.Symbols*f.Symbols, maxLogWeight))
	}
	if foreign, _ := ForeignCloseness(sources); foreign && g.ForeignWords > 0 {
		words *= g.ForeignWords
	}
	near, beside := g.nearness(sources, f, words)
	highest := math.Inf(-1)
	dense := 0
	for i, s := range sources {
		weights[i] = Source{Column: s.Column}
		switch s.Kind {
		case Lexical:
			weights[i].Weight = beside
			continue
		case Phrases:
			weights[i].Weight = words * g.Phrases
			continue
		case Near:
			weights[i].Weight = near
			continue
		case Late:
			if len(g.Late) > 0 {
				weights[i].Weight = math.Exp(min(g.Tokens+dotProduct(g.Late, f.Late), maxLogWeight))
			}
			continue
		}
		weights[i].Weight = g.interceptOf(s.Kind) + dotProduct(g.Dense, f.Dense[dense])
		highest = max(highest, weights[i].Weight)
		dense++
	}
	sum := 0.0
	for i, s := range sources {
		if s.Kind.Dense() {
			weights[i].Weight = math.Exp(weights[i].Weight - highest)
			sum += weights[i].Weight
		}
	}
	for i, s := range sources {
		if s.Kind.Dense() {
			weights[i].Weight *= g.ScaleOf(&s) / sum
		}
	}
	return weights
}

// ScaleOf returns the factor for a dense source's scores that makes them spread like the base's. It is 1 unless the
// source is Foreign, the gate has a Spread, and there are enough scores of random passages.
func (g *Gate) ScaleOf(s *ObservedSource) float64 {
	if !s.Foreign || g.Spread == 0 || len(s.Random) < LeastRandom {
		return 1
	}
	return g.Spread / s.RandomDeviation()
}

// nearness returns the weights of nearness (near) and of BM25 next to it (beside). words is the weight that BM25 has
// alone. If nearness is not among the sources, or the gate has no weight for it, they are 0 and words. The more the
// texts are symbols rather than prose, the closer they come to that.
func (g *Gate) nearness(sources []ObservedSource, f Features, words float64) (near, beside float64) {
	if g.Near <= 0 || !slices.ContainsFunc(sources, func(s ObservedSource) bool { return s.Kind == Near }) {
		return 0, words
	}
	prose := 1 - min(max(f.Symbols, 0), 1)
	near = words * g.Near * prose
	beside = words
	if g.BesideNear > 0 {
		beside *= 1 - (1-g.BesideNear)*prose
	}
	return near, beside
}

// interceptOf returns the gate's constant term for a kind of dense source; that of the generalists for kinds other than
// Specialist and Base.
func (g *Gate) interceptOf(k SourceKind) float64 {
	switch k {
	case Specialist:
		return g.Specialist
	case Base:
		return g.Base
	}
	return g.Generalist
}

// maxLogWeight keeps a weight that is an exponential far from overflow.
const maxLogWeight = 20

// Gated returns the best k candidates by the weighted sum of the sources' raw scores, with the gate's weights for this
// question. It fails for impossible sources and coefficients.
func Gated(c *Candidates, g *Gate, sources []ObservedSource, missing Missing, k int) (Ranking, error) {
	plain := make([]Source, len(sources))
	for i, s := range sources {
		plain[i].Column = s.Column
	}
	if err := c.checkSources(plain); err != nil {
		return Ranking{}, err
	}
	if err := g.Check(); err != nil {
		return Ranking{}, err
	}
	return Sum(c, g.Weigh(nil, sources, FeaturesOf(c, sources)), LinearOptions{Normalisation: Raw, Missing: missing}, k)
}

// dotProduct returns the sum of the products of a and b, which must not be shorter than a.
func dotProduct(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// BestRank returns the best rank, from 1, that one of the columns gives the candidate of a row; 0 if none found it.
func (c *Candidates) BestRank(row int, columns []int) int {
	best := 0
	for _, column := range columns {
		if r := int(c.cellAt(row, column).rank); r > 0 && (best == 0 || r < best) {
			best = r
		}
	}
	return best
}

// Each calls visit for every candidate, in the order of the rows, with its score by each column, completed as missing
// says; 0 where there is none. The slice is reused between calls.
func (c *Candidates) Each(missing Missing, visit func(row int, scores []float64)) {
	f := linearFusion{c: c, missing: missing}
	scores := make([]float64, len(c.columns))
	for row := range c.ordinals {
		for column := range scores {
			score, _ := f.completedScore(row, column)
			scores[column] = float64(score)
		}
		visit(row, scores)
	}
}
