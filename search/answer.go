package search

import (
	"context"
	"fmt"
	"math"

	"conclave/fusion"
)

// fetch makes the response of the fused rankings: the texts, how every score
// came about, and how every source fared.
func (a *answer) fetch(ctx context.Context) error {
	p := a.plan
	if a.engine.preselects(p) && a.knowsReference() {
		a.observe(ctx) // so that those asked say how familiar the question is, as those skipped do
	}
	a.response = Response{
		Question: p.question, Generation: a.view.Generation(), Selected: a.view.selected,
		Degraded: make([]Missing, 0, len(a.degraded)),
	}
	if p.fields.sources {
		a.response.Sources = a.sources(ctx)
	}
	for _, f := range a.findings {
		if f.status != StatusOK && f.status != StatusSkipped {
			a.response.Degraded = append(a.response.Degraded, Missing{Source: f.name, Reason: f.reason})
		}
	}
	a.response.Degraded = append(a.response.Degraded, a.degraded...)
	if !p.named {
		a.response.Degraded = append(a.response.Degraded, a.engine.absent...)
	}
	if _, note := a.engine.knownWords(p.question); note != "" && len(p.experts) > 0 {
		a.response.Notes = append(a.response.Notes, note)
	}

	for i := range p.methods {
		r := &a.rankings[i]
		if r.Items = r.Items[min(p.offset, len(r.Items)):]; p.abstains(printedOf(r.Confidence)) {
			r.Items = nil
		}
	}
	if err := a.fits(); err != nil {
		return err
	}
	for i, m := range p.methods {
		r := a.rankings[i]
		confidence, any := printedOf(r.Confidence), printedOf(r.Any)
		abstained, basis := p.abstains(confidence), ""
		if confidence != nil {
			basis = BasisCalibrated
			if m.gated {
				basis = a.engine.defaults.ChancesBasis
			}
		}
		results, err := a.results(ctx, r)
		if err != nil {
			return err
		}
		if !p.listed {
			a.response.Fusion, a.response.Confidence, a.response.Any = m.name, confidence, any
			a.response.Basis, a.response.Abstained, a.response.Results = basis, abstained, results
			continue
		}
		ranking := Ranking{Fusion: m.asked, Confidence: confidence, Basis: basis, Any: any, Abstained: abstained, Results: results}
		if m.name != m.asked {
			ranking.Method = m.name
		}
		a.response.Rankings = append(a.response.Rankings, ranking)
	}
	return nil
}

// sources says how every source fared. With one method the weights are its
// own; in a list they differ by ranking and stand in the contributions.
func (a *answer) sources(ctx context.Context) []Source {
	sources := make([]Source, len(a.findings))
	chances := a.sourceChances(ctx)
	for i, f := range a.findings {
		s := Source{Name: f.name, Kind: KindDense, Status: f.status, Hits: len(f.hits), Truncated: f.cut, Chance: chances[i], Took: f.took}
		if i < len(a.plan.experts) {
			for _, m := range a.plan.methods {
				if reason := a.engine.leavesOut(a.plan, m, a.plan.experts[i]); reason != "" {
					s.Reason = reason
				}
			}
		}
		switch i {
		case a.plan.wordsAt(), a.plan.phrasesAt():
			s.Kind = KindLexical
		case a.plan.lateAt():
			s.Kind = KindLate
		}
		if f.sure != nil {
			s.Confidence, s.Uncertainty = ptr(printed(f.sure.confidence)), ptr(printed(f.sure.mutualInformation))
		}
		if f.familiarity != nil {
			s.Familiarity = ptr(printed(*f.familiarity))
		}
		if !a.plan.listed && f.status == StatusOK {
			s.Weight = ptr(printed(a.rankings[0].Weights[i]))
		}
		sources[i] = s
	}
	return sources
}

// results makes the results of a fused ranking.
func (a *answer) results(ctx context.Context, r fusion.Ranking) ([]Result, error) {
	results := make([]Result, len(r.Items))
	for n, item := range r.Items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		passage, err := a.view.Passages().Passage(item.Ordinal)
		if err != nil {
			return nil, fmt.Errorf("reading passage %d: %w", item.Ordinal, err)
		}
		result := Result{Rank: a.plan.offset + n + 1, ID: passage.ID, Score: printed(item.Score)}
		if a.plan.fields.title {
			result.Title = passage.Title
		}
		if a.plan.fields.text {
			result.Text = passage.Text
		}
		if a.plan.fields.tags {
			result.Tags = passage.Tags
		}
		if a.plan.fields.metadata {
			result.Metadata = passage.Metadata
		}
		if a.plan.fields.contributions {
			result.Contributions = make([]Contribution, len(item.Parts))
			for i := range item.Parts {
				result.Contributions[i] = a.contribution(&item.Parts[i])
			}
		}
		if a.plan.explain {
			result.Explanation = a.explain(ctx, item)
			if err := a.grows(len(result.Explanation) * termBytes); err != nil {
				return nil, err
			}
		}
		results[n] = result
	}
	return results, nil
}

// contribution says what a source added; it points into the part.
func (a *answer) contribution(part *fusion.Part) Contribution {
	c := Contribution{
		Source: a.findings[part.Column].name, Origin: part.Origin.String(),
		Weight: printed(part.Weight), Contribution: printed(part.Contribution),
	}
	if part.Origin != fusion.FromNone {
		part.Score = printed(part.Score)
		c.Score = &part.Score
	}
	if part.Rank > 0 {
		c.Rank = &part.Rank
	}
	return c
}

// explain returns BM25's terms for a result when BM25 takes part in it, and then
// those of phrases. An explanation that fails is left out: the answer stands
// without it.
func (a *answer) explain(ctx context.Context, item fusion.Item) []TermScore {
	var all []TermScore
	for _, part := range item.Parts {
		f := a.findings[part.Column]
		if f.words == nil {
			continue
		}
		var terms []TermScore
		err := guard(func() (err error) {
			terms, err = f.words.Explain(a.plan.question, item.Ordinal)
			return err
		})
		if err != nil {
			a.engine.observer.Source(ctx, f.name, StatusFailed, fmt.Errorf("explaining: %w", err))
			return nil
		}
		all = append(all, terms...)
	}
	return all
}

// printed is a number as answers show it: nine decimals. The contributions of
// a result add up to its score to far less than 1e-6 then, and a float32 such
// as 0.7123 does not drag its binary tail along.
func printed(x float64) float64 {
	const decimals = 1e9
	if math.Abs(x) > 1e6 { // no digits to spare
		return x
	}
	return math.Round(x*decimals) / decimals
}

func printedOf(x *float64) *float64 {
	if x == nil {
		return nil
	}
	return ptr(printed(*x))
}

func ptr[T any](x T) *T { return &x }
