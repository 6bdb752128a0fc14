package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// Sort puts the candidates that were found in the order of a field of their metadata. Those without
// it come last.
type Sort struct {
	Field string `json:"field"`
	Order string `json:"order,omitempty"` // "asc" (""), or "desc"
}

// Boost adds to the score of passages what they are new: Weight times the range of the candidates'
// scores for one of today, half of it for one that is HalfLife old, and nothing for one without a date.
type Boost struct {
	Field    string  `json:"field"`
	HalfLife string  `json:"half_life"`        // "12h", "90d", "8w", "2y"
	Weight   float64 `json:"weight,omitempty"` // 0: 0.2; at most 10
}

// OriginBoost is the origin of the contribution of a Boost, and BoostSource its source.
const (
	OriginBoost = "boost"
	BoostSource = "freshness"
)

const (
	usualBoost = 0.2
	mostBoost  = 10
)

// planFields checks what is asked of fields of metadata.
func (p *plan) planFields(r *Request, wrong *fault.Problems) {
	p.sort, p.boost = r.Sort, r.Boost
	p.planFacets(r, wrong)
	if r.Sort != (Sort{}) {
		checkField(wrong, "/sort/field", r.Sort.Field)
		fault.OneOf(wrong, "/sort/order", r.Sort.Order, "asc", []string{"asc", "desc"})
		for name, given := range map[string]bool{
			"group_by": r.GroupBy != "", "rerank": r.Rerank.Wanted, "answer": r.Answer.Wanted,
		} {
			if given {
				wrong.Add("unused_option", "/sort", "sort orders by a field, and %s by something else: leave out one", name)
			}
		}
	}
	if r.Boost == (Boost{}) {
		return
	}
	checkField(wrong, "/boost/field", r.Boost.Field)
	var ok bool
	p.halfLife, ok = parseAge(r.Boost.HalfLife)
	if !ok {
		wrong.Add("out_of_range", "/boost/half_life",
			"half_life is %s: it has to be a number with h, d, w or y behind it, such as 90d, of a minute to 1000 years",
			wording.Quote(r.Boost.HalfLife))
	}
	p.boost.Weight = cmp.Or(r.Boost.Weight, usualBoost)
	if !(p.boost.Weight > 0 && p.boost.Weight <= mostBoost) {
		wrong.Add("out_of_range", "/boost/weight", "weight is %v: it has to be above 0 and at most %d",
			r.Boost.Weight, mostBoost)
	}
}

// checkField checks the name of a field.
func checkField(w *fault.Problems, pointer, name string) {
	if name == "" || len(name) > conditions.MaxFieldBytes {
		w.Add("out_of_range", pointer, "the field has %d bytes: it has to have 1 to %d", len(name), conditions.MaxFieldBytes)
	}
}

// parseAge reads a number of hours, days, weeks or years.
func parseAge(s string) (age time.Duration, ok bool) {
	if s == "" {
		return 0, false
	}
	hours, known := map[byte]float64{'h': 1, 'd': 24, 'w': 7 * 24, 'y': 365.25 * 24}[s[len(s)-1]]
	n, err := strconv.ParseFloat(s[:len(s)-1], 64)
	hours *= n
	if !known || err != nil || !(hours >= 1./60 && hours <= 1000*365.25*24) {
		return 0, false
	}
	if hours > math.MaxInt64/float64(time.Hour) { // 292 years: so old is as old as that
		return math.MaxInt64, true
	}
	return time.Duration(hours * float64(time.Hour)), true
}

// readsFields reports whether the candidates' metadata order them.
func (p *plan) readsFields() bool { return p.sort.Field != "" || p.boost.Field != "" }

// candidateFields reads the values of fields of passages, a few passages at a time.
func (a *answer) candidateFields(
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
			n, err := a.found.View.Passages().Size(o)
			if err != nil {
				return fmt.Errorf("passage %d: %w", o, err)
			}
			bytes += n
		}
		if room := min(copies*bytes, copies*a.rules.answerBytes); room > taken {
			if err := takeRoom(ctx, room-taken); err != nil {
				return err
			}
			taken = room
		}
		of, err := a.found.View.Passages().Read(ctx, some)
		if err != nil {
			return fmt.Errorf("reading fields of the candidates: %w", err)
		}
		for i := range of {
			read(from+i, &of[i])
		}
	}
	return nil
}

// orderByFields adds what a boost gives each candidate, and sorts by a field.
func (a *answer) orderByFields(ctx context.Context) error {
	if !a.plan.readsFields() {
		return nil
	}
	dates := map[rank.Ordinal]time.Time{}
	keys := map[rank.Ordinal]any{}
	candidates := a.table.Ordinals()
	err := a.candidateFields(ctx, candidates, func(i int, p *corpus.Passage) {
		if text, is := p.Metadata[a.plan.boost.Field].(string); is {
			if from, _, ok := conditions.ParseDate(text); ok {
				dates[candidates[i]] = from
			}
		}
		if v, there := p.Metadata[a.plan.sort.Field]; there {
			keys[candidates[i]] = v
		}
	})
	if err != nil {
		return err
	}
	for i := range a.rankings {
		r := &a.rankings[i]
		if len(r.Items) == 0 {
			continue
		}
		first := r.Items[0].Ordinal
		if a.plan.boost.Field != "" {
			a.addFreshness(i, dates, time.Now())
		}
		if a.plan.sort.Field != "" {
			sortBy(r.Items, keys, a.plan.sort.Order == "desc")
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
func (a *answer) addFreshness(ranking int, dates map[rank.Ordinal]time.Time, now time.Time) {
	items := a.rankings[ranking].Items
	spread := items[0].Score - items[len(items)-1].Score
	now = now.Truncate(a.plan.halfLife / 1000)
	for i := range items {
		date, dated := dates[items[i].Ordinal]
		if !dated {
			continue
		}
		fresh := math.Exp2(-max(0, now.Sub(date).Seconds()) / a.plan.halfLife.Seconds())
		gain := a.plan.boost.Weight * spread * fresh
		items[i].Score += gain
		a.credit(ranking, items[i].Ordinal, Contribution{
			Source:       BoostSource,
			Score:        run.Ptr(run.Printed(fresh)),
			Origin:       OriginBoost,
			Weight:       run.Printed(a.plan.boost.Weight * spread),
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
