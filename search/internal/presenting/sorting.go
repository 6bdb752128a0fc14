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

// candidateFields reads passages, some at a time, and calls read with the index of each and the passage, which may be
// deleted (without metadata). Before, it takes memory for as many bytes as it reads at once. It fails if memory or
// passages cannot be had.
func candidateFields(
	ctx context.Context,
	r *answering.Ranking,
	takeRoom Room,
	passages []rank.Ordinal,
	read func(i int, p *corpus.Passage),
) error {
	const together = 64
	taken := 0
	for from := 0; from < len(passages); from += together {
		some := passages[from:min(from+together, len(passages))]
		bytes := 0
		for _, o := range some {
			n, err := r.Found.View.Passages().Size(o)
			if err != nil {
				return fmt.Errorf("passage %d: %w", o, err)
			}
			bytes += n
		}
		if room := min(answering.Copies*bytes, answering.Copies*r.Rules.AnswerBytes); room > taken {
			if err := takeRoom(ctx, room-taken); err != nil {
				return err
			}
			taken = room
		}
		found, err := r.Found.View.Passages().Read(ctx, some)
		if err != nil {
			return fmt.Errorf("reading fields of the candidates: %w", err)
		}
		for i := range found {
			read(from+i, &found[i])
		}
	}
	return nil
}

// OrderByFields orders every ranking by metadata: it adds the plan's boost to the scores of candidates with newer
// dates, and sorts by the plan's field. Confidences become nil if another passage is then first. It also sets r.Values
// if results are grouped by a field. It does nothing if the plan reads no field. It fails if passages cannot be read or
// there is no memory for them.
func OrderByFields(ctx context.Context, r *answering.Ranking, takeRoom Room) error {
	if !r.Plan.ReadsFields() {
		return nil
	}
	dates := map[rank.Ordinal]time.Time{}
	keys := map[rank.Ordinal]any{}
	r.Values = map[rank.Ordinal]conditions.Value{}
	candidates := r.Table.Ordinals()
	err := candidateFields(ctx, r, takeRoom, candidates, func(i int, p *corpus.Passage) {
		if text, is := p.Metadata[r.Plan.Boost.Field].(string); is {
			if from, _, ok := conditions.ParseDate(text); ok {
				dates[candidates[i]] = from
			}
		}
		if v, there := p.Metadata[r.Plan.Sort.Field]; there {
			keys[candidates[i]] = v
		}
		if v, ok := conditions.ValueOf(p.Metadata[r.Plan.GroupField()]); ok {
			r.Values[candidates[i]] = v
		}
	})
	if err != nil {
		return err
	}
	for i := range r.Rankings {
		by := &r.Rankings[i]
		if len(by.Items) == 0 {
			continue
		}
		first := by.Items[0].Ordinal
		if r.Plan.Boost.Field != "" {
			addFreshness(r, i, dates, time.Now())
		}
		if r.Plan.Sort.Field != "" {
			sortBy(by.Items, keys, r.Plan.Sort.Order == "desc")
			by.Any = nil
		}
		if by.Items[0].Ordinal != first { // it is of the passage that was first
			by.Confidence, by.Any = nil, nil
		}
	}
	return nil
}

// addFreshness adds a boost to the scores of the ranking at an index and sorts it. dates are the dates of passages;
// those without a date get none. The boost of a passage is halved with every half-life of its age. now is rounded to a
// thousandth of the half-life, so that the pages of one ranking agree. Each boost is credited to the ranking. The
// ranking must not be empty.
func addFreshness(ranked *answering.Ranking, ranking int, dates map[rank.Ordinal]time.Time, now time.Time) {
	items := ranked.Rankings[ranking].Items
	spread := items[0].Score - items[len(items)-1].Score
	now = now.Truncate(ranked.Plan.HalfLife / 1000)
	for i := range items {
		date, dated := dates[items[i].Ordinal]
		if !dated {
			continue
		}
		fresh := math.Exp2(-max(0, now.Sub(date).Seconds()) / ranked.Plan.HalfLife.Seconds())
		gain := ranked.Plan.Boost.Weight * spread * fresh
		items[i].Score += gain
		ranked.Credit(ranking, items[i].Ordinal, reply.Contribution{
			Source:       reply.BoostSource,
			Score:        run.Ptr(run.Printed(fresh)),
			Origin:       reply.OriginBoost,
			Weight:       run.Printed(ranked.Plan.Boost.Weight * spread),
			Contribution: run.Printed(gain),
		})
	}
	slices.SortStableFunc(items, func(x, y fusion.Item) int { return cmp.Compare(y.Score, x.Score) })
}

// sortBy sorts items by their keys: numbers, then dates, then other strings, then booleans (storage.CompareValues), or
// all of that reversed if descending. Items without a key come last. Equal ones keep their order.
func sortBy(items []fusion.Item, keys map[rank.Ordinal]any, descending bool) {
	slices.SortStableFunc(items, func(x, y fusion.Item) int {
		a, has := keys[x.Ordinal]
		b, other := keys[y.Ordinal]
		switch {
		case !has || !other:
			return cmp.Compare(boolToInt(other), boolToInt(has))
		case descending:
			return storage.CompareValues(b, a)
		}
		return storage.CompareValues(a, b)
	})
}

// boolToInt returns 1 for true and 0 for false.
func boolToInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
