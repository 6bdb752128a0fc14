package calibration

import (
	"math"
	"slices"

	"example.org/conclave/fusion"
)

// UsualPhrases is the weight of phrases beside BM25's that the fit begins with,
// and that its ridge pulls to where questions say little.
const UsualPhrases = 0.6

// Where the numbers of a gate are among the parameters of its fit.
const (
	atSpecialist = iota
	atGeneralist
	atBase
	atWords
	atSharpness
	atPhrases // logarithm of their weight divided by BM25's
	atTokens  // intercept of late interaction's logarithmic weight
	atDense
)

var (
	atLexical  = atDense + len(fusion.DenseFeatureNames())
	atLate     = atLexical + len(fusion.LexicalFeatureNames())
	parameters = atLate + len(fusion.LateFeatureNames())
)

// gateStart returns the parameters that a fit begins with: equal weights.
func gateStart() []float64 {
	x := make([]float64, parameters)
	x[atWords], x[atSharpness], x[atPhrases] = math.Log(0.03), math.Log(20), math.Log(UsualPhrases)
	return x
}

// gateOf returns the gate of parameters, which it shares.
func gateOf(x []float64) fusion.Gate {
	return fusion.Gate{
		Specialist: x[atSpecialist],
		Generalist: x[atGeneralist],
		Base:       x[atBase],
		Dense:      x[atDense:atLexical],
		Words:      x[atWords],
		Lexical:    x[atLexical:atLate],
		Phrases:    math.Exp(min(x[atPhrases], 20)),
		Tokens:     x[atTokens],
		Late:       x[atLate:],
	}
}

// parametersOf returns the parameters with which gateOf gives a gate again; what the gate
// does not say is as in the beginning.
func parametersOf(g *fusion.Gate) []float64 {
	x := gateStart()
	x[atSpecialist], x[atGeneralist], x[atBase], x[atWords] = g.Specialist, g.Generalist, g.Base, g.Words
	copy(x[atDense:], g.Dense)
	copy(x[atLexical:], g.Lexical)
	if g.Phrases > 0 {
		x[atPhrases] = math.Log(g.Phrases)
	}
	if len(g.Late) > 0 {
		x[atTokens] = g.Tokens
		copy(x[atLate:], g.Late)
	}
	return x
}

// interceptsOf returns the intercepts that a coefficient's feature is added to.
func interceptsOf(coefficient int) []int {
	switch {
	case coefficient < atLexical:
		return []int{atSpecialist, atGeneralist, atBase}
	case coefficient < atLate:
		return []int{atWords}
	}
	return []int{atTokens}
}

// standardised returns the parameters for standardised features that say the same as some
// for features as they are.
func (p *gateProblem) standardised(raw []float64) []float64 {
	x := slices.Clone(raw)
	for at := atDense; at < parameters; at++ {
		x[at] = raw[at] * p.deviation[at]
		for _, intercept := range interceptsOf(at) {
			x[intercept] += raw[at] * p.mean[at]
		}
	}
	return x
}

// gate returns the gate of parameters for standardised features, for features as they are.
func (p *gateProblem) gate(x []float64) fusion.Gate {
	raw := slices.Clone(x)
	for at := atDense; at < parameters; at++ {
		raw[at] = x[at] / p.deviation[at]
		for _, intercept := range interceptsOf(at) {
			raw[intercept] -= raw[at] * p.mean[at]
		}
	}
	g := gateOf(raw)
	if !p.phrases {
		g.Phrases = 0
	}
	if !p.late {
		g.Tokens, g.Late = 0, nil
	}
	return g
}
