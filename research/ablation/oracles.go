package ablation

import (
	"context"
	"hash/fnv"
	"math/rand/v2"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// oracleTrials returns the trials of oracles, which know the answers, so that no method can reach them: the two
// oracles of the paper of MUF over the experts (Li et al., 2021, section 6.2, table 3). It returns nil if there are
// fewer than two experts.
func (t *trialRun) oracleTrials() []trial {
	var experts []string
	for _, s := range t.e.Questions[0].Sources {
		if s.Kind.Dense() {
			experts = append(experts, t.e.Sources[s.Column])
		}
	}
	if len(experts) < 2 {
		return nil
	}
	row := func(name string, choose func(q *calibration.Question, names []string) (fusion.Ranking, error)) trial {
		return func(_ context.Context, r *Findings) error {
			some, err := t.e.restrictTo(onlyThese(experts...), nil)
			if err != nil {
				return err
			}
			answers, err := calibration.By(some.Questions, func(q *calibration.Question) (fusion.Ranking, error) {
				return choose(q, some.Sources)
			})
			if err != nil {
				return err
			}
			r.add(&r.Oracles, some.row(name, answers))
			return nil
		}
	}
	return []trial{
		row("the expert of the question's domain, else the mean", rankByDomain),
		row("Bayesian search for the question's weights", rankByBestWeights),
	}
}

// indicatorWeights returns the weights of the named experts: 1 for that of the question's domain and 0 for the others;
// equal weights if there is none.
func indicatorWeights(q *calibration.Question, names []string) []float64 {
	weights := make([]float64, len(names))
	own := false
	for i, name := range names {
		if name == q.Domain {
			weights[i], own = 1, true
		}
	}
	for i := range weights {
		if !own {
			weights[i] = 1
		}
	}
	return weights
}

// rankByDomain returns the ranking by the expert of the question's domain, or by the mean of all named experts if
// there is none. It fails if the fusion does.
func rankByDomain(q *calibration.Question, names []string) (fusion.Ranking, error) {
	return rankByWeights(q, indicatorWeights(q, names))
}

// rankByWeights returns the ranking by the weighted sum of the experts' raw scores. weights has one for each column;
// sources with a weight of 0 or less are left out. It fails if the fusion does.
func rankByWeights(q *calibration.Question, weights []float64) (fusion.Ranking, error) {
	var sources []fusion.Source
	for _, s := range q.Sources {
		if w := weights[s.Column]; w > 0 {
			sources = append(sources, fusion.Source{Column: s.Column, Weight: w})
		}
	}
	return fusion.Sum(q.Table, sources, fusion.LinearOptions{Normalisation: fusion.Raw}, calibration.AnsweredDepth)
}

// rankByBestWeights returns the ranking by those weights, out of searchSteps that Bayesian optimisation tries for
// this very question, under which the first passage that answers ranks highest. It begins with the indicator's, as in
// the paper. The random numbers follow from the question's id. It fails if a fusion does.
func rankByBestWeights(q *calibration.Question, names []string) (fusion.Ranking, error) {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(q.ID))
	random := rand.New(rand.NewPCG(seed.Sum64(), testSeed))
	start := [][]float64{indicatorWeights(q, names)}
	best, err := bayesianMinimum(start, searchSteps, random, func(weights []float64) (float64, error) {
		r, err := rankByWeights(q, weights)
		for i, item := range r.Items {
			if q.Relevant[item.Ordinal] > 0 {
				return -1 / float64(i+1), err
			}
		}
		return 0, err
	})
	if err != nil {
		return fusion.Ranking{}, err
	}
	return rankByWeights(q, best)
}
