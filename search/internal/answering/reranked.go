package answering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// Rerank lets the reranker score the first passages, orders them by both scores, and sets a.ToRead by that order. If
// the reranker fails, runs out of time, or was not trained on the question's script or on the language of one of these
// passages, the order stays as it is, and a note says so. If the server decides (Plan.RerankAuto), the order also stays
// where reranking does not pay or takes too long. It fails if passages cannot be read from the collection.
func (a *Answer) Rerank(ctx context.Context) error {
	x := a.Plan.Reranker
	r := &a.Rankings[0]
	within := a.Plan.Window(len(r.Items))
	if a.Plan.RerankAuto {
		within = extract.WithinReach(scoresOf(r.Items[:within]), *x.Weight)
		if within < 2 { // only the first
			within = 0
		}
		if within > 0 && (a.hasSymbols() || a.isRerankerBusy(ctx, within)) {
			within = 0
		}
	}
	if words, _, unknown := x.KnownWords(a.Asked); within > 0 && (2*unknown > words || !a.Found.Reads(x.Languages)) {
		a.noteUnreadByReranker(x)
		within = 0
	}
	if within > 0 {
		first, passages, err := a.Texts(ctx, r.Items[:within])
		if err != nil {
			return err
		}
		if slices.ContainsFunc(passages, func(p corpus.Passage) bool { return !a.Found.ReadsPassage(x.Languages, &p) }) {
			a.noteUnreadByReranker(x)
			a.setToRead()
			return nil
		}
		rerankScores, err := a.scorePassages(ctx, x, passages)
		if err != nil {
			a.noteMissingModel(ctx, x.Name, err, "scored the passages", "they are ranked without it")
		} else if len(first) > 0 {
			rest := r.Items[within:]
			weight := weightOf(a.Plan, x, first, rerankScores)
			scores := scoresOf(first)
			a.setRerankedChance(x, scores, rerankScores, weight)
			a.setRerankedVerdict(x, scores, rerankScores, weight)
			raised := a.addModelScores(first, rerankScores, weight, x.Name, reply.OriginRerank)
			slices.SortStableFunc(raised, func(x, y fusion.Item) int { return cmp.Compare(y.Score, x.Score) })
			r.Items = append(raised, rest...)
		}
	}
	a.setToRead()
	return nil
}

// noteUnreadByReranker adds a note to a.Notes that the reranker has no part in the ranking, if the request asked for
// it.
func (a *Answer) noteUnreadByReranker(x *learned.LoadedReranker) {
	if !a.Plan.RerankAuto {
		a.Notes = append(a.Notes, x.Name+" was not trained on the language of the question, or of a passage that was found: "+
			"it has no part in the ranking")
	}
}

// scoresOf returns the items' scores, in their order.
func scoresOf(items []fusion.Item) []float64 {
	scores := make([]float64, len(items))
	for i, item := range items {
		scores[i] = item.Score
	}
	return scores
}

// mostlySymbols is the share of symbols, as fusion.Symbols has it, from which a collection is not reranked unless the
// request asks for it.
const mostlySymbols = .5

// hasSymbols reports whether the collection's passages are symbols rather than words, such as source code.
func (a *Answer) hasSymbols() bool {
	return slices.ContainsFunc(a.seen, func(x fusion.ObservedSource) bool { return x.Symbols >= mostlySymbols })
}

// autoShare is the part of the request's remaining time that reranking may take if nobody asked for it: 1/autoShare.
const autoShare = 8

// isRerankerBusy reports whether scoring the first so many passages is expected to take more than 1/autoShare of the
// time that is left, and then says so under Degraded. It is false if that is not known.
func (a *Answer) isRerankerBusy(ctx context.Context, passages int) bool {
	x := a.Plan.Reranker
	end, ok := ctx.Deadline()
	if !ok || x.Expect == nil {
		return false
	}
	may := max(time.Until(end)/autoShare, 0)
	expected := x.Expect(passages)
	if expected <= may {
		return false
	}
	reason := fmt.Sprintf("scoring %d passages would take about %d ms now, and %d ms are left for it: they are ranked without it",
		passages, expected.Milliseconds(), may.Milliseconds())
	a.Found.Panel.Run.Report.Source(ctx, x.Name, reply.StatusDeadline, errors.New(reason))
	a.Degraded = append(a.Degraded, reply.Missing{Source: x.Name, Reason: reason})
	return true
}

// scorePassages returns the reranker's score of each passage, and adds a note on how many it could not read to the end.
// It fails if the reranker fails or its time is up.
func (a *Answer) scorePassages(
	ctx context.Context,
	x *learned.LoadedReranker,
	passages []corpus.Passage,
) (scores []float64, err error) {
	within, cancel := a.timeToRerank(ctx)
	defer cancel()
	var judged []learned.Relevance
	err = run.Guard(func() (err error) {
		judged, err = x.Score(within, a.Asked, passages)
		if err == nil && len(judged) != len(passages) {
			err = fmt.Errorf("the reranker scored %d passages of %d", len(judged), len(passages))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	cut := 0
	for _, s := range judged {
		scores = append(scores, s.Score)
		if s.Cut {
			cut++
		}
	}
	if cut > 0 && !a.Plan.RerankAuto {
		a.Notes = append(a.Notes, fmt.Sprintf(
			"%s read only the beginning of %d of %d passages, since they are too long for it",
			x.Name,
			cut,
			len(passages),
		))
	}
	return scores, nil
}

// timeToRerank returns a context for the reranker that ends before ctx does, by the time that a reader and fetching the
// texts take. The caller has to call the function.
func (a *Answer) timeToRerank(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(end)
	after := min(left/run.Reserved, run.ReservedMost/2)
	if a.Plan.Reader != nil {
		after += min(left/3, run.ReadingMost)
	}
	return context.WithDeadline(ctx, end.Add(-after))
}

// weightOf returns the weight of a reranker's scores: the fitted one if the plan may use it (Plan.Weighs); otherwise
// the one with which rerankScores vary as much as those of items. It is 0 if rerankScores are all equal, and 1 if the
// items' scores are.
func weightOf(p *plan.Plan, x *learned.LoadedReranker, items []fusion.Item, rerankScores []float64) float64 {
	if p.Weighs(x) {
		return *x.Weight
	}
	own, others := deviation(rerankScores), deviation(scoresOf(items))
	switch {
	case own == 0: // it says the same of all
		return 0
	case others == 0:
		return 1
	}
	return others / own
}

// deviation returns the standard deviation of all numbers, divided by their number and not by one less: 0 for a single
// number, NaN for none.
func deviation(all []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, x := range all {
		mean += x / float64(len(all))
	}
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(all)))
}
