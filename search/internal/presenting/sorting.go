package presenting

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// candidateFields reads the values of fields of passages, a few passages at a time.
func (a *Page) candidateFields(
	ctx context.Context,
	passages []rank.Ordinal,
	read func(i int, p *corpus.Passage),
) error {
	const together = 64
	taken := 0
	for from := 0; from < len(passages); from += together {
		some := passages[from:min(from+together, len(passages))]
		bytes := 0
		for _, o := range some {
			n, err := a.answer.Found.View.Passages().Size(o)
			if err != nil {
				return fmt.Errorf("passage %d: %w", o, err)
			}
			bytes += n
		}
		if room := min(answering.Copies*bytes, answering.Copies*a.answer.Rules.AnswerBytes); room > taken {
			if err := a.takeRoom(ctx, room-taken); err != nil {
				return err
			}
			taken = room
		}
		of, err := a.answer.Found.View.Passages().Read(ctx, some)
		if err != nil {
			return fmt.Errorf("reading fields of the candidates: %w", err)
		}
		for i := range of {
			read(from+i, &of[i])
		}
	}
	return nil
}

// OrderByFields adds what the plan's boost gives each candidate to its score, and sorts by the plan's field. It does
// nothing if the plan has neither.
func (a *Page) OrderByFields(ctx context.Context) error {
	if !a.answer.Plan.ReadsFields() {
		return nil
	}
	dates := map[rank.Ordinal]time.Time{}
	keys := map[rank.Ordinal]any{}
	candidates := a.answer.Table.Ordinals()
	err := a.candidateFields(ctx, candidates, func(i int, p *corpus.Passage) {
		if text, is := p.Metadata[a.answer.Plan.Boost.Field].(string); is {
			if from, _, ok := conditions.ParseDate(text); ok {
				dates[candidates[i]] = from
			}
		}
		if v, there := p.Metadata[a.answer.Plan.Sort.Field]; there {
			keys[candidates[i]] = v
		}
	})
	if err != nil {
		return err
	}
	for i := range a.answer.Rankings {
		r := &a.answer.Rankings[i]
		if len(r.Items) == 0 {
			continue
		}
		first := r.Items[0].Ordinal
		if a.answer.Plan.Boost.Field != "" {
			a.addFreshness(i, dates, time.Now())
		}
		if a.answer.Plan.Sort.Field != "" {
			sortBy(r.Items, keys, a.answer.Plan.Sort.Order == "desc")
			r.Any = nil
		}
		if r.Items[0].Ordinal != first { // it is of the passage that was first
			r.Confidence, r.Any = nil, nil
		}
	}
	return nil
}

// addFreshness adds to the scores of a ranking what the dates of its passages give them. Time passes in
// steps of a thousandth of the half-life, so that pages of one ranking belong together.
func (a *Page) addFreshness(ranking int, dates map[rank.Ordinal]time.Time, now time.Time) {
	items := a.answer.Rankings[ranking].Items
	spread := items[0].Score - items[len(items)-1].Score
	now = now.Truncate(a.answer.Plan.HalfLife / 1000)
	for i := range items {
		date, dated := dates[items[i].Ordinal]
		if !dated {
			continue
		}
		fresh := math.Exp2(-max(0, now.Sub(date).Seconds()) / a.answer.Plan.HalfLife.Seconds())
		gain := a.answer.Plan.Boost.Weight * spread * fresh
		items[i].Score += gain
		a.answer.Credit(ranking, items[i].Ordinal, reply.Contribution{
			Source:       reply.BoostSource,
			Score:        run.Ptr(run.Printed(fresh)),
			Origin:       reply.OriginBoost,
			Weight:       run.Printed(a.answer.Plan.Boost.Weight * spread),
			Contribution: run.Printed(gain),
		})
	}
	slices.SortStableFunc(items, func(x, y fusion.Item) int { return cmp.Compare(y.Score, x.Score) })
}

// sortBy orders items by values of a field: numbers, then dates, then other words, then booleans; those
// without one last. Equal ones stay in their order.
func sortBy(items []fusion.Item, keys map[rank.Ordinal]any, descending bool) {
	slices.SortStableFunc(items, func(x, y fusion.Item) int {
		a, has := keys[x.Ordinal]
		b, other := keys[y.Ordinal]
		switch {
		case !has || !other:
			return cmp.Compare(b2i(other), b2i(has))
		case descending:
			return storage.CompareValues(b, a)
		}
		return storage.CompareValues(a, b)
	})
}

func b2i(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
