package search

import (
	"context"
	"fmt"
	"slices"

	"conclave/fusion"
	"conclave/rank"
)

// answer is a request on its way from the findings to the response.
type answer struct {
	engine   *lineUp
	plan     *plan
	view     *pinned
	findings []finding
	table    *fusion.Candidates // one column for each finding
	rankings []fusion.Ranking   // of each method
	observed []fusion.Observed  // of the sources that answered, once a method asks
	known    []float32          // the question by the reference; nil: nobody asked for it, or it cannot be had
	untied   error              // an id could not be read that decides between equal scores
	degraded []Missing
	response Response
	bytes    int // of the response, about
}

// complete makes the table of candidates, and fills in the true scores of what
// a source did not return where a method will use them. A source whose true
// scores cannot be had is completed by its lowest score, which the origin of
// its contributions and a note under Degraded say.
func (a *answer) complete(ctx context.Context) error {
	lists := make([][]rank.Hit, len(a.findings))
	for i, f := range a.findings {
		lists[i] = f.hits
	}
	if err := a.table.Reset(lists); err != nil {
		return err
	}
	a.table.OrderTies(func(passages []rank.Ordinal) {
		if err := a.view.Passages().SortByID(passages); err != nil {
			a.untied = fmt.Errorf("ordering passages with equal scores: %w", err)
		}
	})
	a.scoreLate(ctx)
	wanted := false
	for _, m := range a.plan.methods {
		wanted = wanted || m.completes
	}
	if !wanted || a.plan.missing != fusion.Exact {
		return nil
	}
	var passages []rank.Ordinal
	var scores []float32
	for i := range a.findings {
		f := &a.findings[i]
		passages = a.table.Missing(i, passages[:0])
		if f.status != StatusOK || len(passages) == 0 || i == a.plan.lateAt() {
			continue
		}
		scores = append(scores[:0], make([]float32, len(passages))...)
		err := guard(func() error {
			if err := f.score(ctx, a.plan.question, passages, scores); err != nil {
				return err
			}
			return a.table.Complete(i, scores)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.engine.observer.Source(ctx, f.name, StatusFailed, fmt.Errorf("exact scores: %w", err))
			a.degraded = append(a.degraded, Missing{Source: f.name,
				Reason: "its true scores for the others' passages could not be read; its lowest score stands in for them"})
		}
	}
	return nil
}

// scoredAtOnce is how many passages are scored between two looks at the deadline.
const scoredAtOnce = 512

// score writes a source's true scores of passages to out.
func (f *finding) score(ctx context.Context, question string, passages []rank.Ordinal, out []float32) error {
	for from := 0; from < len(passages); from += scoredAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+scoredAtOnce, len(passages))
		if f.words == nil {
			f.vectors.Scores(f.vector, passages[from:to], out[from:to])
		} else if err := f.words.Scores(question, passages[from:to], out[from:to]); err != nil {
			return err
		}
	}
	return nil
}

// fuse ranks the candidates by every method.
func (a *answer) fuse(ctx context.Context) error {
	for _, m := range a.plan.methods {
		if err := ctx.Err(); err != nil {
			return err
		}
		ranking, err := a.fuseBy(ctx, m)
		if err != nil {
			return fmt.Errorf("fusing by %s: %w", m.name, err)
		}
		a.rankings = append(a.rankings, ranking)
	}
	return a.untied
}

func (a *answer) fuseBy(ctx context.Context, m plannedMethod) (fusion.Ranking, error) {
	p := a.plan
	options := fusion.Options{Normalisation: p.normalise, Missing: p.missing}
	experts, lexical := a.answering()
	experts = slices.DeleteFunc(experts, func(i int) bool { return a.engine.leavesOut(p, m, p.experts[i]) != "" })
	switch m.name {
	case MethodMUF:
		sure, calibrated := a.confidences(experts)
		ranking, err := fusion.MUF(a.table, sure, options, p.k)
		return calibratedOnly(ranking, calibrated), err
	case MethodMUFSparse:
		sure, calibrated := a.confidences(experts)
		ranking, err := fusion.MUFSparse(a.table, sure, p.k)
		return calibratedOnly(ranking, calibrated), err
	case MethodHybrid:
		sure, _ := a.confidences(experts)
		o := *a.engine.defaults.Hybrid
		o.Missing = p.missing
		if p.normalise != "" {
			o.Normalisation = p.normalise
		}
		if alpha, ok := p.weights[WordSource]; ok {
			o.Alpha = alpha
		}
		return fusion.Hybrid(a.table, sure, lexical, o, p.k)
	case MethodGate:
		return a.gated(ctx, p)
	case MethodSum:
		if options.Normalisation == "" && lexical >= 0 {
			// BM25's sums and inner products have no common scale.
			options.Normalisation = fusion.ZScore
		}
		return fusion.Sum(a.table, a.weighted(experts, lexical), options, p.k)
	}
	return fusion.RRF(a.table, a.weighted(experts, lexical), p.k)
}

// answering returns the columns of the experts that answered, and of BM25, or
// -1 when it did not. Phrases and late interaction are for the gate alone.
func (a *answer) answering() (experts []int, lexical int) {
	lexical = -1
	for i, f := range a.findings {
		switch {
		case f.status != StatusOK:
		case i == a.plan.wordsAt():
			lexical = i
		case i == a.plan.phrasesAt(), i == a.plan.lateAt():
		default:
			experts = append(experts, i)
		}
	}
	return experts, lexical
}

// confidences pairs experts with how sure they are. When one of them cannot
// say (it has a single hit), all count the same and nobody is calibrated.
func (a *answer) confidences(experts []int) (sure []fusion.Source, calibrated bool) {
	calibrated = true
	for _, i := range experts {
		s := fusion.Source{Column: i}
		if c := a.findings[i].sure; c != nil {
			s.Weight = c.confidence
		} else {
			calibrated = false
		}
		sure = append(sure, s)
	}
	if !calibrated {
		for i := range sure {
			sure[i].Weight = 1
		}
	}
	return sure, calibrated
}

// calibratedOnly removes a confidence that nobody calibrated.
func calibratedOnly(r fusion.Ranking, calibrated bool) fusion.Ranking {
	if !calibrated {
		r.Confidence = nil
	}
	return r
}

// weighted gives every source the weight that the request names, or 1.
func (a *answer) weighted(experts []int, lexical int) []fusion.Source {
	sources := make([]fusion.Source, 0, len(experts)+1)
	for _, i := range experts {
		sources = append(sources, fusion.Source{Column: i, Weight: a.weightOf(a.findings[i].name)})
	}
	if lexical >= 0 {
		sources = append(sources, fusion.Source{Column: lexical, Weight: a.weightOf(WordSource)})
	}
	return sources
}

func (a *answer) weightOf(name string) float64 {
	if w, ok := a.plan.weights[name]; ok {
		return w
	}
	return 1
}
