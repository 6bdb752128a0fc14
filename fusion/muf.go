package fusion

import (
	"cmp"
	"math"
)

// mufMethod returns the entry of MethodMUF in Methods: the sum of the experts' scores, weighed by how much the members
// of each one's ensemble agree (MUF), and by familiarity too with Settings.Weighting ByFamiliarity. It needs at least
// one dense expert, and leaves words out.
func mufMethod() Method {
	return Method{
		Name:       MethodMUF,
		needsDense: true, confidence: true, completes: true, normalises: true, sharpens: true, familiar: true,
		Variants: []Variant{
			{
				Name: "muf",
			}, {Name: "muf, sharpness 1", Sharpness: PaperSharpness}, {Name: "muf, the paper's", Missing: Min,
				Sharpness: PaperSharpness},
			{Name: "muf, z-scores", Normalisation: ZScore}, {Name: "muf, min-max", Normalisation: MinMax},
		},
		Fuse: func(in Input, s Settings, k int) (Ranking, error) {
			experts, known := in.weightByConfidence()
			fuse := MUF
			if s.Weighting == ByFamiliarity {
				fuse = in.fuseFamiliar
			}
			ranking, err := fuse(in.Table, experts, s.linearOptions(), k)
			return ranking.confidentIf(known), err
		},
	}
}

// Weighting is what the weights of experts in MUF are made of.
type Weighting string

// The weightings of MUF.
const (
	ByCertainty   Weighting = "certainty" // the paper's: how sure each expert is
	ByFamiliarity Weighting = "familiar"  // that times how familiar the question is to each specialist
)

// Weightings returns all weightings, in the order in which they are listed to people.
func Weightings() []Weighting { return []Weighting{ByCertainty, ByFamiliarity} }

// familiarityTemperature is that of the softmax over familiarities by which ByFamiliarity weighs. Of 0.02, 0.05, 0.1
// and
// 0.2 it had the highest nDCG@10 (docs/evidence/methods.md, "Familiarity and certainty together").
const familiarityTemperature = 0.05

// fuseFamiliar is MUF with each expert's weight multiplied by its share of a softmax over the familiarities of the
// question to the experts. An expert without a domain counts as familiar as the specialists are on the mean. Where no
// familiarity is known, it is MUF. It fails for impossible sources and options.
func (in *Input) fuseFamiliar(c *Candidates, experts []Source, o LinearOptions, k int) (Ranking, error) {
	return fuseByConfidence(c, experts, in.familiarShares(), o, k)
}

// familiarShares returns the share of each expert among in.Sources, in their order: exp(familiarity / temperature), in
// parts of the greatest specialist's. They are equal if there is no specialist.
func (in *Input) familiarShares() (shares []float64) {
	var experts []ObservedSource
	sum, specialists := 0.0, 0
	highest := math.Inf(-1)
	for _, o := range in.Sources {
		if !o.Kind.Dense() {
			continue
		}
		experts = append(experts, o)
		if o.Kind == Specialist {
			sum += o.Familiarity
			specialists++
			highest = max(highest, o.Familiarity)
		}
	}
	if specialists == 0 {
		highest = 0
	}
	for _, o := range experts {
		familiarity := sum / float64(max(specialists, 1))
		if o.Kind == Specialist {
			familiarity = o.Familiarity
		}
		shares = append(shares, math.Exp((familiarity-highest)/familiarityTemperature))
	}
	return shares
}

// The sharpness of MUF's weights. The paper's weight of an expert is its confidence. Seven
// experts' confidences differ too little for the sure one to outvote the others, so the
// default is a higher power: the number with the highest nDCG@10 on the development questions
// of eight domains. Chosen on seven of them, it is 3 in six of eight cases (docs/evidence/methods.md, "Plain MUF").
const (
	PaperSharpness   = 1
	DefaultSharpness = 3
	MaxSharpness     = 100 // where the surest expert has all the weight
)

// linearOptions returns the options of MUF and Hybrid.
func (s *Settings) linearOptions() LinearOptions {
	return LinearOptions{
		Normalisation: s.Normalisation,
		Missing:       s.Missing,
		Sharpness:     cmp.Or(s.Sharpness, DefaultSharpness),
	}
}

// mufSparse describes the method muf-sparse.
func mufSparse() Method {
	return Method{
		Name:       MethodMUFSparse,
		needsDense: true, confidence: true,
		Variants: []Variant{{Name: "muf-sparse"}},
		Fuse: func(in Input, _ Settings, k int) (Ranking, error) {
			experts, known := in.weightByConfidence()
			ranking, err := MUFSparse(in.Table, experts, k)
			return ranking.confidentIf(known), err
		},
	}
}

// confidentIf returns the ranking, without its confidence if known is false.
func (r Ranking) confidentIf(known bool) Ranking {
	if !known {
		r.Confidence = nil
	}
	return r
}

// MUF returns the best k candidates by the sum of the experts' scores, weighted by their confidences divided by the sum
// of these (Li et al., 2021, equation 6 and section 5), or by a power of them (LinearOptions.Sharpness). The Weight of
// a source is its confidence. The ranking's confidence is their mean. It fails for impossible sources and options.
func MUF(c *Candidates, experts []Source, o LinearOptions, k int) (Ranking, error) {
	return fuseByConfidence(c, experts, nil, o, k)
}

// fuseByConfidence is MUF with each expert's weight multiplied by its number in shares, unless that is nil. It fails
// for impossible sources and options.
func fuseByConfidence(c *Candidates, experts []Source, shares []float64, o LinearOptions, k int) (Ranking, error) {
	if err := c.checkSources(experts); err != nil {
		return Ranking{}, err
	}
	if err := o.setDefaults(); err != nil {
		return Ranking{}, err
	}
	weighted, mean := byConfidence(experts, o.Sharpness)
	if shares != nil {
		products := make([]float64, len(weighted))
		for i := range weighted {
			products[i] = weighted[i].Weight * shares[i]
		}
		for i, w := range weightsOf(products) {
			weighted[i].Weight = w
		}
	}
	ranking, err := Sum(c, weighted, o, k)
	if err == nil && len(experts) > 0 {
		ranking.Confidence = &mean
	}
	return ranking, err
}

// MUFSparse returns the ranking, and the confidence, of the most confident expert; of equally confident ones that of
// the lowest column. Without experts the ranking is empty. The Weight of a source is its confidence. (The authors' code
// for it fails; their documentation says this.)
func MUFSparse(c *Candidates, experts []Source, k int) (Ranking, error) {
	if err := c.checkSources(experts); err != nil {
		return Ranking{}, err
	}
	if len(experts) == 0 {
		return Sum(c, nil, LinearOptions{}, k)
	}
	surest := experts[0]
	for _, e := range experts[1:] {
		if e.Weight > surest.Weight || e.Weight == surest.Weight && e.Column < surest.Column {
			surest = e
		}
	}
	ranking, err := Sum(c, []Source{{Column: surest.Column, Weight: 1}}, LinearOptions{}, k)
	ranking.Confidence = &surest.Weight
	return ranking, err
}

// byConfidence returns the experts with weights that add up to 1, proportional to the power sharpness of their
// confidences, and the mean of the confidences.
func byConfidence(experts []Source, sharpness float64) (weighted []Source, mean float64) {
	confidences, powers := make([]float64, len(experts)), make([]float64, len(experts))
	highest := 0.0
	for i, e := range experts {
		confidences[i] = e.Weight
		highest = max(highest, e.Weight)
	}
	for i, c := range confidences {
		powers[i] = c
		if sharpness != 1 && highest > 0 {
			powers[i] = math.Pow(c/highest, sharpness) // of the highest's share, which no power makes 0
		}
	}
	weighted = make([]Source, len(experts))
	for i, w := range weightsOf(powers) {
		weighted[i] = Source{Column: experts[i].Column, Weight: w}
	}
	return weighted, sumAscending(confidences) / float64(max(len(experts), 1))
}
