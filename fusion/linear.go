package fusion

import (
	"fmt"
)

// LinearOptions are the options of Sum and MUF.
type LinearOptions struct {
	Normalisation Normalisation // "": Raw
	Missing       Missing       // "": Exact
	// Sharpness is the power of a confidence that is its weight in MUF; 0: 1, the paper's.
	// Sum has none.
	Sharpness float64
}

// setDefaults sets the defaults of options that are zero, and returns an error for impossible ones.
func (o *LinearOptions) setDefaults() error {
	if o.Normalisation == "" {
		o.Normalisation = Raw
	}
	if o.Missing == "" {
		o.Missing = Exact
	}
	if o.Sharpness == 0 {
		o.Sharpness = PaperSharpness
	}
	if !(o.Sharpness > 0 && o.Sharpness <= MaxSharpness) {
		return fmt.Errorf("the sharpness is %v: it must be above 0 and at most %g", o.Sharpness, float64(MaxSharpness))
	}
	switch o.Normalisation {
	case Raw, MinMax, CentreRange, ZScore:
	default:
		return fmt.Errorf("normalisation %q is unknown: %v are known", o.Normalisation, Normalisations())
	}
	switch o.Missing {
	case Exact, Min, None:
	default:
		return fmt.Errorf("missing %q is unknown: %v are known", o.Missing, []Missing{Exact, Min, None})
	}
	return nil
}

// linearFusion is a fusion in which every contribution is a weight times a straight
// line of the source's score: all methods but RRF.
type linearFusion struct {
	c       *Candidates
	missing Missing
	sources []Source
	lines   []line // of each source

	// With Missing Min, a candidate that none of the first dense sources found
	// is given the scores of the candidate in row standIn, when that is not
	// negative. Only Hybrid uses it.
	dense, standIn int
}

// rank returns the best k candidates by the sum of the contributions of f's sources (contribution), explained by
// explainPart.
func (f *linearFusion) rank(k int) Ranking {
	return f.c.rankBy(f.sources, k, f.contribution, f.explainPart)
}

// contribution returns what source number i adds to a row's score; 0 if the source has no score of it.
func (f *linearFusion) contribution(row, i int) float64 {
	if f.usesStandIn(row, i) {
		row = f.standIn
	}
	score, origin := f.completedScore(row, f.sources[i].Column)
	if origin == FromNone {
		return 0
	}
	return f.sources[i].Weight * f.lines[i].scoreAt(float64(score))
}

// explainPart returns what source number i adds to a row's score, with the score, rank and origin that explain it.
func (f *linearFusion) explainPart(row, i int) Part {
	s := f.sources[i]
	p := Part{Column: s.Column, Weight: s.Weight, Contribution: f.contribution(row, i)}
	from := row
	usesStandIn := f.usesStandIn(row, i)
	if usesStandIn {
		from = f.standIn
	}
	score, origin := f.completedScore(from, s.Column)
	p.Score = float64(score)
	p.Origin = origin
	switch {
	case origin == FromNone:
	case usesStandIn:
		p.Origin = FromMin
	default:
		p.Rank = int(f.c.cellAt(row, s.Column).rank)
	}
	return p
}

// usesStandIn reports whether row f.standIn gives the score of source number i for this row: it is a dense source, and
// no dense source found the row.
func (f *linearFusion) usesStandIn(row, i int) bool {
	return i < f.dense && f.standIn >= 0 && !f.c.foundBy(row, f.sources[:f.dense])
}

// completedScore returns a source's score for a row, completed as f.missing says, and its origin; 0 and FromNone if
// there is none.
func (f *linearFusion) completedScore(row, column int) (float32, Origin) {
	at := f.c.cellAt(row, column)
	switch {
	case at.origin == FromHit, at.origin == FromScored, at.origin == FromEstimate,
		at.origin == FromExact && f.missing == Exact:
		return at.score, at.origin
	case f.missing == None || f.c.columns[column].hits == 0:
		return 0, FromNone
	}
	return f.c.columns[column].lowest, FromMin
}

// lineOf returns the normalisation of a column's scores. Its statistics are over the source's own hits and, where they
// are there, scores that late interaction or the "exact" completion gave to passages that one of the fused sources
// found.
func (f *linearFusion) lineOf(column int, kind Normalisation) line {
	if kind == Raw {
		return identityLine()
	}
	all := len(f.sources) == len(f.c.columns)
	each := func(visit func(float64)) {
		for row := range f.c.ordinals {
			at := f.c.cellAt(row, column)
			scored := at.origin == FromScored || at.origin == FromExact && f.missing == Exact
			if at.origin == FromHit || scored && (all || f.c.foundBy(row, f.sources)) {
				visit(float64(at.score))
			}
		}
	}
	s := spread{list: f.c.list[:0]}
	each(s.add)
	f.c.list = s.list
	return s.line(kind)
}

// growSlice returns a slice of length n, in s's memory if that is large enough. Its elements are not set.
func growSlice(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
