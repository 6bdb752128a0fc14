package opensearch

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/rank"
	"example.org/conclave/store/opensearch/schema"
)

// mostClauses is how many terms one search has at most. A cluster takes 1,024 clauses in a query
// (indices.query.bool.max_clause_count), of which filters are some.
const mostClauses = 900

// leaves returns how many terms the query of a question would have.
func (q *wordQuery) leaves() int {
	n := 0
	for _, of := range q.queries() {
		n += leavesOf(of)
	}
	return n
}

// parts returns the queries of a question in lists of mostClauses terms at most: their scores add up to
// that of the question. Where there are several, the first have the terms that weigh most, and those
// that no passage had when they were counted are left out.
func (q *wordQuery) parts() [][]any {
	all := q.queries()
	n := 0
	for _, of := range all {
		n += leavesOf(of)
	}
	if n <= mostClauses {
		return [][]any{all}
	}
	if slices.ContainsFunc(all, func(of any) bool { return leavesOf(of) > mostClauses }) {
		plain := *q // forms that so many words have in common are no search of one request
		plain.variants = nil
		all = plain.queries()
	}
	if q.counted {
		all = slices.DeleteFunc(all, func(of any) bool { return q.weight(of) == 0 })
		slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(q.weight(b), q.weight(a)) })
	}
	var out [][]any
	room := 0
	for _, of := range all {
		n := leavesOf(of)
		if room < n {
			out = append(out, nil)
			room = mostClauses
		}
		room -= n
		out[len(out)-1] = append(out[len(out)-1], of)
	}
	return out
}

// inner returns the queries of which one consists; nil of a term.
func inner(query any) []any {
	of, _ := query.(object)
	for kind, list := range map[string]string{"dis_max": "queries", "bool": "should"} {
		if body, ok := of[kind].(object); ok {
			queries, _ := body[list].([]any)
			return queries
		}
	}
	return nil
}

// leavesOf returns how many terms a query has.
func leavesOf(query any) int {
	n := 0
	for _, of := range inner(query) {
		n += leavesOf(of)
	}
	return max(n, 1)
}

// weight returns what a query adds to a score at most; 0 where no passage has its terms.
func (q *wordQuery) weight(query any) float64 {
	of, _ := query.(object)
	term, ok := of["term"].(object)
	if !ok {
		sum := 0.0
		for _, of := range inner(query) {
			sum += q.weight(of)
		}
		return sum
	}
	for field, value := range term {
		value, _ := value.(object)
		text, _ := value["value"].(string)
		if field == schema.FieldPairs && q.field != schema.FieldPairs {
			return 1 // a form that passages have
		}
		if q.df[text] == 0 {
			return 0
		}
		switch boost := value["boost"].(type) {
		case int:
			return float64(boost) * float64(q.idf(text))
		case float32:
			return float64(boost * q.idf(text))
		}
	}
	return 1
}

// foundInParts returns the first k passages by the sums of what the parts of a question score. It takes
// the first of each part and scores them by the others, until no passage that is not among them can
// have a higher sum (Fagin, Lotem and Naor 2003, "Optimal aggregation algorithms for middleware", the
// threshold algorithm), or mostHits of each part were looked at.
func (w words) foundInParts(ctx context.Context, parts [][]any, k int) ([]rank.Hit, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	for n := min(max(2*k, 200), mostHits); ; n = min(4*n, mostHits) {
		var searches []object
		for _, of := range parts {
			searches = append(searches, w.first(w.among(sumOf(of)), n, nil))
		}
		answers, err := w.together(ctx, searches)
		if err != nil {
			return nil, err
		}
		threshold, full := 0.0, false
		totals := map[string]float64{}
		for _, a := range answers {
			for _, h := range a.hits {
				w.table.ordinal(h.id, h.bytes, h.print)
				totals[h.id] = 0
			}
			if len(a.hits) == n {
				threshold += float64(a.hits[n-1].score)
				full = true
			}
		}
		if err := w.addUp(ctx, parts, answers, totals, n); err != nil {
			return nil, err
		}
		hits := make([]rank.Hit, 0, len(totals))
		ids := make(map[rank.Ordinal]string, len(totals))
		for id, total := range totals {
			o := w.table.ordinal(id, 0, 0)
			ids[o] = id
			hits = append(hits, rank.Hit{Ordinal: o, Score: float32(total)})
		}
		slices.SortFunc(hits, func(a, b rank.Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(ids[a.Ordinal], ids[b.Ordinal]))
		})
		hits = hits[:min(k, len(hits))]
		if !full || n == mostHits || len(hits) == k && float64(hits[k-1].Score) > threshold {
			return hits, partial(answers)
		}
	}
}

// addUp adds the scores of passages by each part to totals. Those that answers lack are asked for where
// their part has more than n hits.
func (w words) addUp(ctx context.Context, parts [][]any, answers []said, totals map[string]float64, n int) error {
	var searches []object
	for i, a := range answers {
		there := map[string]bool{}
		for _, h := range a.hits {
			totals[h.id] += float64(h.score)
			there[h.id] = true
		}
		if len(a.hits) < n {
			continue
		}
		var missing []string
		for id := range totals {
			if !there[id] {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 {
			slices.Sort(missing)
			for some := range slices.Chunk(missing, mostHits) {
				searches = append(searches, w.store.scoringOf(parts[i], some))
			}
		}
	}
	answers, err := w.store.multiPartly(ctx, searches)
	for _, a := range answers {
		for _, h := range a.hits {
			totals[h.id] += float64(h.score)
		}
	}
	return err
}

// scoringOf returns the search that gives passages their scores by queries, 0 to those that are there
// and have none of their terms.
func (s *Store) scoringOf(queries []any, ids []string) object {
	return withoutStored(object{"size": len(ids), "track_total_hits": false, "query": object{"bool": object{
		"should": queries, "filter": s.naming(ids), "minimum_should_match": 0}}})
}
