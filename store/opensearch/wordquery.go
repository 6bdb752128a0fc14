package opensearch

import (
	"slices"
	"strings"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/store/opensearch/schema"
)

// wordQuery is what a question looks for among the words of an index, or among its phrases, with the numbers of
// passages that have it, once these were counted. forms.Variant says what other forms of the terms add to a score.
type wordQuery struct {
	field    string
	question string
	terms    terms
	variants []forms.Variant
	entries  []string // of the variants, each once

	counted bool
	df      map[string]uint64 // of terms and entries
	all     uint64            // passages with terms
}

// newWordQuery returns what a question looks for in a field: its terms and, in FieldWords, the variants of its words.
// Nothing is counted yet.
func newWordQuery(field string, analysis forms.Analysis, question string) *wordQuery {
	q := &wordQuery{field: field, question: question, terms: termsOf(field, analysis, question)}
	if field != schema.FieldWords {
		return q
	}
	q.variants = analysis.Variants(question)
	for _, v := range q.variants {
		for _, entry := range v.Entries {
			if !slices.Contains(q.entries, entry) {
				q.entries = append(q.entries, entry)
			}
		}
	}
	return q
}

// isEmptyQuery reports whether the question has no term and no variant to look for.
func (q *wordQuery) isEmptyQuery() bool { return len(q.terms) == 0 && len(q.variants) == 0 }

// lookedUp returns the index entries, as field and text, whose passages have to be counted: one of each term, and one
// of each other form of a word. A text that is both occurs twice.
func (q *wordQuery) lookedUp() []entry {
	out := make([]entry, 0, len(q.terms)+len(q.entries))
	for _, t := range q.terms {
		out = append(out, entry{q.field, t.text})
	}
	for _, text := range q.entries {
		field, value := fieldOfEntry(text)
		out = append(out, entry{field, value})
	}
	return out
}

// takeCounts sets how many passages have each term and form that the query looks up, from counts, and marks the query
// as counted.
func (q *wordQuery) takeCounts(counts *termCounts) {
	q.df = map[string]uint64{}
	q.all = counts.all[q.field]
	for _, text := range q.entries {
		field, value := fieldOfEntry(text)
		q.df[text] = counts.byEntry[entry{field, value}]
	}
	for _, t := range q.terms {
		q.df[t.text] = counts.byEntry[entry{q.field, t.text}]
	}
	q.counted = true
}

// fieldOfEntry returns the field that has an entry of the vocabulary, and the entry's value there: a phrase is in
// FieldPairs, another form in FieldForms, a term in FieldWords.
func fieldOfEntry(entry string) (field, value string) {
	first, second, phrase := strings.Cut(entry, " ")
	switch {
	case phrase:
		return schema.FieldPairs, first + forms.PairGap + second
	case forms.IsForm(entry):
		return schema.FieldForms, entry
	}
	return schema.FieldWords, entry
}

// idf returns the inverse document frequency of a term or a form, by the counts.
func (q *wordQuery) idf(text string) float32 { return bm25.IDF(q.df[text], q.all) }

// knownEntries returns the forms of a variant that passages have, and the boost of each.
func (q *wordQuery) knownEntries(v *forms.Variant) (entries []string, boosts []float32) {
	own := float32(0)
	for _, text := range v.Of {
		own += q.idf(text)
	}
	for _, entry := range v.Entries {
		if q.df[entry] > 0 {
			entries, boosts = append(entries, entry), append(boosts, v.Boost(own, q.idf(entry)))
		}
	}
	return entries, boosts
}

// termQuery returns the query of a term in a field, whose score is multiplied with boost.
func termQuery(field, value string, boost any) object {
	return object{"term": object{field: object{"value": value, "boost": boost}}}
}

// bestOf returns the query that scores as the best of queries, which must not be empty.
func bestOf(queries []any) any {
	if len(queries) == 1 {
		return queries[0]
	}
	return object{"dis_max": object{"queries": queries}}
}

// sumOf returns the query of the passages that at least one of queries finds, which scores as their sum.
func sumOf(queries []any) object {
	return object{"bool": object{"should": queries, "minimum_should_match": 1}}
}

// formQueries returns a query for each of those forms of a variant that passages have, by the counts of q, with its
// boost; nil if there is none.
func (q *wordQuery) formQueries(v *forms.Variant) (queries []any) {
	entries, boosts := q.knownEntries(v)
	for i, entry := range entries {
		field, value := fieldOfEntry(entry)
		queries = append(queries, termQuery(field, value, boosts[i]))
	}
	return queries
}

// queries returns the queries whose scores add up to that of a question: one for each term, or, for terms that have
// forms in common, the best of their sum and of each form with the rest. Before entries were counted, they are of the
// terms alone.
func (q *wordQuery) queries() []any {
	parts := make([][]any, len(q.terms)) // of each term the query, and those of its other forms
	for i, t := range q.terms {
		parts[i] = []any{termQuery(q.field, t.text, t.count)}
	}
	var out []any
	joined := make([][]*forms.Variant, len(q.terms)) // by the first term of a group
	group := make([]int, len(q.terms))               // of each term
	for i := range group {
		group[i] = i
	}
	for i := range q.variants {
		v := &q.variants[i]
		forms := q.formQueries(v)
		if len(forms) == 0 {
			continue
		}
		var indexes []int
		for _, text := range v.Of {
			indexes = append(indexes, slices.IndexFunc(q.terms, func(t term) bool { return t.text == text }))
		}
		switch len(indexes) {
		case 0:
			out = append(out, bestOf(forms))
		case 1:
			parts[indexes[0]] = append(parts[indexes[0]], forms...)
		default:
			into := group[indexes[0]]
			for _, at := range indexes {
				if from := group[at]; from != into {
					joined[into] = append(joined[into], joined[from]...)
					joined[from] = nil
					for j := range group {
						if group[j] == from {
							group[j] = into
						}
					}
				}
			}
			joined[into] = append(joined[into], v)
		}
	}
	for first := range q.terms {
		sum := func(without *forms.Variant) (queries []any) {
			for i, t := range q.terms {
				if group[i] == first && (without == nil || !slices.Contains(without.Of, t.text)) {
					queries = append(queries, bestOf(parts[i]))
				}
			}
			return queries
		}
		if joined[first] == nil {
			out = append(out, sum(nil)...)
			continue
		}
		ways := []any{sumOf(sum(nil))}
		for _, v := range joined[first] {
			ways = append(ways, sumOf(append(sum(v), bestOf(q.formQueries(v)))))
		}
		out = append(out, bestOf(ways))
	}
	return out
}

// upperBound returns a score that no passage exceeds, by the same rule as the BM25 of a folder
// (bm25.Searcher.UpperBound) and the counts that the query has.
func (q *wordQuery) upperBound() float64 {
	covered := map[string]bool{}
	for i := range q.variants {
		if entries, _ := q.knownEntries(&q.variants[i]); len(entries) > 0 {
			for _, text := range q.variants[i].Of {
				covered[text] = true
			}
		}
	}
	weights := map[string]float64{}
	for _, t := range q.terms {
		if q.df[t.text] > 0 || !covered[t.text] {
			weights[t.text] = float64(t.count) * float64(q.idf(t.text))
		}
	}
	sum := 0.0
	for _, t := range q.terms {
		sum += weights[t.text]
	}
	for i := range q.variants {
		v := &q.variants[i]
		own, most := 0.0, 0.0
		for _, text := range v.Of {
			own += weights[text]
		}
		entries, boosts := q.knownEntries(v)
		for j, entry := range entries {
			most = max(most, float64(boosts[j]*q.idf(entry)))
		}
		sum += max(0, most-own)
	}
	return sum
}
