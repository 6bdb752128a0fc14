package opensearch

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/rank"
	"example.org/conclave/store/opensearch/schema"
)

// mostClauses is the largest number of terms in one search. A cluster takes 1,024 clauses in a query
// (indices.query.bool.max_clause_count), of which filters are some.
const mostClauses = 900

// termCount returns how many terms the queries of a question have together.
func (q *wordQuery) termCount() int {
	n := 0
	for _, query := range q.queries() {
		n += termsIn(query)
	}
	return n
}

// splitQueries returns the queries of a question in lists of mostClauses terms at most, whose scores add up. If there
// are several lists, the queries with the greatest scores come first, and those whose terms no passage had when they
// were counted are left out.
func (q *wordQuery) splitQueries() [][]any {
	all := q.queries()
	n := 0
	for _, query := range all {
		n += termsIn(query)
	}
	if n <= mostClauses {
		return [][]any{all}
	}
	if slices.ContainsFunc(all, func(query any) bool { return termsIn(query) > mostClauses }) {
		plain := *q // forms that so many words have in common are no search of one request
		plain.variants = nil
		all = plain.queries()
	}
	if q.counted {
		all = slices.DeleteFunc(all, func(query any) bool { return q.greatestScore(query) == 0 })
		slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(q.greatestScore(b), q.greatestScore(a)) })
	}
	var out [][]any
	room := 0
	for _, query := range all {
		n := termsIn(query)
		if room < n {
			out = append(out, nil)
			room = mostClauses
		}
		room -= n
		out[len(out)-1] = append(out[len(out)-1], query)
	}
	return out
}

// innerQueries returns the queries that a dis_max or bool query consists of; nil for a query of one term.
func innerQueries(query any) []any {
	clause, _ := query.(object)
	for kind, list := range map[string]string{"dis_max": "queries", "bool": "should"} {
		if body, ok := clause[kind].(object); ok {
			queries, _ := body[list].([]any)
			return queries
		}
	}
	return nil
}

// termsIn returns how many terms a query has.
func termsIn(query any) int {
	n := 0
	for _, inner := range innerQueries(query) {
		n += termsIn(inner)
	}
	return max(n, 1)
}

// greatestScore returns an upper bound of what a query adds to the score of any passage; 0 if no passage has its terms.
func (q *wordQuery) greatestScore(query any) float64 {
	clause, _ := query.(object)
	term, ok := clause["term"].(object)
	if !ok {
		sum := 0.0
		for _, inner := range innerQueries(query) {
			sum += q.greatestScore(inner)
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

// searchInParts returns the first k passages by the sums of what the parts of a question score, the best first, and
// equal ones by id. It takes the first passages of each part and scores them by the other parts, until no other
// passage can have a higher sum (Fagin, Lotem and Naor 2003, "Optimal aggregation algorithms for middleware", the
// threshold algorithm), or mostHits of each part were looked at. A *storage.PartialError comes with hits of a part of
// the shards.
func (w words) searchInParts(ctx context.Context, parts [][]any, k int) ([]rank.Hit, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	for n := min(max(2*k, 200), mostHits); ; n = min(4*n, mostHits) {
		var searches []object
		for _, part := range parts {
			searches = append(searches, w.hitsSearch(w.addFilter(sumOf(part)), n, nil))
		}
		answers, err := w.searchTogether(ctx, searches)
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
		if err := w.addScores(ctx, parts, answers, totals, n); err != nil {
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
			return hits, partialAnswerError(answers)
		}
	}
}

// addScores adds to totals, by passage ids, the score of each passage by each part. answers are those to the parts, n
// hits at most each. Scores that they do not have are asked for, if the part may have more than n hits. Shards that
// do not answer add nothing. It fails if the cluster does not answer.
func (w words) addScores(
	ctx context.Context, parts [][]any, answers []searchAnswer, totals map[string]float64, n int,
) error {
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
				searches = append(searches, w.store.scoresSearch(parts[i], some))
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

// scoresSearch returns the search that scores passages by the sum of queries. A passage with none of their terms gets
// 0; one that is gone is not among the hits.
func (s *Store) scoresSearch(queries []any, ids []string) object {
	return withoutStored(object{"size": len(ids), "track_total_hits": false, "query": object{"bool": object{
		"should": queries, "filter": s.idsQuery(ids), "minimum_should_match": 0}}})
}
