package fusion

import "slices"

// Offer is what there is to rank by, before any source is asked.
type Offer struct {
	Words   bool      // BM25
	Experts []Ability // those that are searched
	Named   bool      // they were named, and are not simply all
	Gate    bool      // a gate was fitted
	Chances bool      // the chances of the gate's answers were fitted
	Surest  bool      // how sure the surest granularity is was fitted
	// Temperature: the scores of experts without ensembles can be made confidences.
	Temperature bool
}

// Ability is what a method has to know of an expert.
type Ability struct {
	Sure     bool // it can say how sure it is
	Granular bool // it is one of several granularities, among which the surest answers
}

// Lack is something that a method needs and that the offer does not have.
type Lack int

// What methods may lack.
const (
	LacksWords Lack = iota + 1
	LacksExperts
	LacksGranularities // experts that are granularities, or that are named
	LacksGate
	LacksConfidences // experts that can say how sure they are
)

// Lacks returns what the method needs to rank and the offer does not have; nil if it can rank.
func (m Method) Lacks(o Offer) (lacks []Lack) {
	has := func(holds func(Ability) bool) bool { return slices.ContainsFunc(o.Experts, holds) }
	for _, lack := range []struct {
		it   Lack
		when bool
	}{
		{LacksWords, m.needsWords && !o.Words},
		{LacksExperts, m.needsDense && len(o.Experts) == 0},
		{LacksGranularities, m.granular && !o.Named && !has(Ability.granular)},
		{LacksGate, m.gated && !o.Gate},
		{LacksConfidences, m.lacksConfidences(o)},
	} {
		if lack.when {
			lacks = append(lacks, lack.it)
		}
	}
	return lacks
}

// lacksConfidences reports whether the method weighs by confidences and no expert of the offer has one.
func (m Method) lacksConfidences(o Offer) bool {
	n := len(o.Experts)
	return n > 0 && m.WeighsByConfidence(n) && !m.weighsByScores(o) && !slices.ContainsFunc(o.Experts, Ability.sure)
}

// weighsByScores reports whether the method computes confidences from the experts' scores, since no expert has one of
// its own.
func (m Method) weighsByScores(o Offer) bool {
	return m.onlyAmong && o.Temperature && !slices.ContainsFunc(o.Experts, Ability.sure)
}

// sure returns Sure, as a function for slices.ContainsFunc.
func (a Ability) sure() bool { return a.Sure }

// granular returns Granular, as a function for slices.ContainsFunc.
func (a Ability) granular() bool { return a.Granular }

// Exclusion is why a method has no use for an expert.
type Exclusion int

// Why a method leaves an expert out.
const (
	Included Exclusion = iota
	NotGranular
	NotSure
)

// Excludes returns why the method leaves an expert of the offer out; Included if it takes part.
func (m Method) Excludes(o Offer, x Ability) Exclusion {
	switch {
	case m.granular && !o.Named && !x.Granular:
		return NotGranular
	case m.WeighsByConfidence(len(o.Experts)) && !x.Sure && !m.weighsByScores(o):
		return NotSure
	}
	return Included
}

// Uses reports whether sources of this kind take part in the method.
func (m Method) Uses(kind SourceKind) bool {
	switch kind {
	case Lexical:
		return m.words
	case Phrases, Near, Late:
		return m.gated
	}
	return true
}

// WeighsByQuestion reports whether the method weighs each source anew for every question: by how familiar the question
// is, by its words, and by the sources' scores.
func (m Method) WeighsByQuestion() bool { return m.gated }

// WeighsByConfidence reports whether the method, with n experts, weighs each by its confidence.
func (m Method) WeighsByConfidence(n int) bool { return m.confidence && (!m.onlyAmong || n > 1) }

// ReadsConfidence reports whether the method, with n experts, uses their confidences in any way.
func (m Method) ReadsConfidence(n int) bool { return m.gated || m.WeighsByConfidence(n) }

// RanksGranularities reports whether the method ranks by one of several granularities of an expert.
func (m Method) RanksGranularities() bool { return m.granular }

// CalibratedWeight reports whether a source of this kind gets its weight from a calibration where the request gives
// none.
func (m Method) CalibratedWeight(kind SourceKind) bool {
	return m.gated || m.weighs == wordsAlone && kind == Lexical
}

// ConfidenceBasis is what a method's confidence in its answer rests on.
type ConfidenceBasis int

// What confidences rest on.
const (
	NoConfidence  ConfidenceBasis = iota
	FromChances                   // the chances of answers, as they were fitted
	FromEnsembles                 // how far the experts' ensembles agree
	FromSurest                    // how sure the surest expert is
)

// Basis returns what the method's confidence in its answer is computed from.
func (m Method) Basis() ConfidenceBasis {
	switch {
	case m.gated:
		return FromChances
	case m.granular:
		return FromSurest
	case m.confidence && !m.onlyAmong:
		return FromEnsembles
	}
	return NoConfidence
}

// Confident reports whether the method's answers have a calibrated confidence with this offer.
func (m Method) Confident(o Offer) bool {
	switch m.Basis() {
	case FromChances:
		return o.Chances
	case FromSurest:
		return o.Surest
	case FromEnsembles:
		return true
	}
	return false
}

// Option is an option of a request that some methods take.
type Option string

// The options of methods.
const (
	OptionMissing       Option = "missing"
	OptionWeights       Option = "weights"
	OptionExpertWeights Option = "weights of experts"
	OptionNormalisation Option = "normalisation"
	OptionSharpness     Option = "sharpness"
	OptionWeighting     Option = "weighting"
	OptionTemperature   Option = "temperature" // by which scores become confidences
	OptionLate          Option = "late"
)

// Takes reports whether an option has an effect on the method.
func (m Method) Takes(o Option) bool {
	switch o {
	case OptionMissing:
		return m.completes
	case OptionWeights:
		return m.weighs != nobody
	case OptionExpertWeights:
		return m.weighs == everybody
	case OptionNormalisation:
		return m.normalises
	case OptionSharpness:
		return m.sharpens
	case OptionWeighting:
		return m.familiar
	case OptionTemperature:
		return m.granular || m.onlyAmong
	case OptionLate:
		return m.gated
	}
	return false
}

// FuseAgain ranks stored scores of an earlier search again, without the question. A method that weighs by question then
// uses s.Weights, 0 for a source that has none there. It fails for settings or weights that the method does not take.
func (m Method) FuseAgain(in Input, s Settings, k int) (Ranking, error) {
	if !m.gated {
		return m.Fuse(in, s, k)
	}
	sources := make([]Source, len(in.Sources))
	for i, o := range in.Sources {
		sources[i] = Source{Column: o.Column, Weight: s.Weights[o.Column]}
	}
	return Sum(in.Table, sources, LinearOptions{Normalisation: Raw, Missing: s.Missing}, k)
}
