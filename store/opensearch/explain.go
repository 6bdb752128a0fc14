package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// explanation is how Lucene says that a score came about.
type explanation struct {
	Value       json.Number   `json:"value"`
	Description string        `json:"description"`
	Details     []explanation `json:"details"`
}

// leaf is a term of a question, or a form of some of its terms that passages have, as its query looks for it.
type leaf struct {
	text         string // of the entry
	field, value string
	boost        any
	count        int // how often the question has it
}

// name returns what the leaf is called in a query.
func (l *leaf) name() string { return l.field + ":" + l.value }

// allLeaves returns those of terms, in their order, and those of each variant.
func (q *wordQuery) allLeaves() (own []leaf, forms [][]leaf) {
	for _, t := range q.terms {
		own = append(own, leaf{t.text, q.field, t.text, t.count, t.count})
	}
	for i := range q.variants {
		v := &q.variants[i]
		entries, boosts := q.known(v)
		of := make([]leaf, len(entries))
		for j, entry := range entries {
			field, value := entryAt(entry)
			of[j] = leaf{entry, field, value, boosts[j], v.Count}
		}
		forms = append(forms, of)
	}
	return own, forms
}

// Explain implements storage.WordIndex, in one request: of this one passage the cluster explains the terms and the
// other forms that passages have, mostClauses of them in a search.
func (w words) Explain(ctx context.Context, question string, passage rank.Ordinal) ([]storage.TermScore, error) {
	q := w.query(question)
	if w.field == schema.FieldWords {
		if err := w.count(ctx, q); err != nil {
			return nil, err
		}
	}
	own, forms := q.allLeaves()
	whys, err := w.explain(ctx, slices.Concat(own, slices.Concat(forms...)), passage)
	if err != nil {
		return nil, err
	}
	return q.explained(own, forms, func(l *leaf) (*storage.TermScore, error) { return l.score(whys) })
}

// explain returns how each leaf that a passage has came to its score.
func (w words) explain(ctx context.Context, leaves []leaf, passage rank.Ordinal) (map[leaf]*explanation, error) {
	among := w.store.naming(w.table.idsOf([]rank.Ordinal{passage}))
	var searches []object
	var parts [][]leaf
	var queries []any
	named := map[string]bool{} // in the last part: one query has no term twice
	for i, l := range leaves {
		if i == 0 || len(queries) == mostClauses || named[l.name()] {
			parts = append(parts, nil)
			queries = nil
			named = map[string]bool{}
			searches = append(searches, nil)
		}
		queries = append(queries, termQuery(l.field, l.value, l.boost))
		named[l.name()] = true
		last := len(parts) - 1
		parts[last] = append(parts[last], l)
		searches[last] = object{"size": 1, "explain": true, "track_total_hits": false, "_source": false,
			"query": object{"bool": object{"should": queries, "minimum_should_match": 1, "filter": among}}}
	}
	answers, err := w.store.multi(ctx, searches)
	if err != nil {
		return nil, err
	}
	out := map[leaf]*explanation{}
	for i, a := range answers {
		if len(a.hits) == 0 {
			continue
		}
		if a.hits[0].why == nil {
			return nil, fmt.Errorf("%w: it explains nothing", cluster.ErrAnswer)
		}
		byName := map[string]*explanation{}
		a.hits[0].why.weights(byName)
		for _, l := range parts[i] {
			if why := byName[l.name()]; why != nil {
				out[l] = why
			}
		}
	}
	return out, nil
}

// weights adds what terms weigh, by their fields and values. Lucene calls it "weight(FIELD:VALUE in DOCUMENT)".
func (e *explanation) weights(into map[string]*explanation) {
	if rest, ok := strings.CutPrefix(e.Description, "weight("); ok {
		if at := strings.LastIndex(rest, " in "); at > 0 {
			into[rest[:at]] = e
		}
		return
	}
	for i := range e.Details {
		e.Details[i].weights(into)
	}
}

// explained puts scores of leaves together to those of a passage. scoreOf returns nil of a leaf that the passage
// does not have.
func (q *wordQuery) explained(
	terms []leaf,
	forms [][]leaf,
	scoreOf func(*leaf) (*storage.TermScore, error),
) (out []storage.TermScore, err error) {
	own := map[string]float64{} // scores of terms
	for i := range terms {
		score, err := scoreOf(&terms[i])
		if err != nil {
			return nil, err
		}
		if score != nil {
			out = append(out, *score)
			own[terms[i].text] = score.Score
		}
	}
	for i := range q.variants {
		v := &q.variants[i]
		var best *storage.TermScore
		for j := range forms[i] {
			score, err := scoreOf(&forms[i][j])
			if err != nil {
				return nil, err
			}
			if score != nil && (best == nil || score.Score > best.Score) {
				best = score
			}
		}
		if best == nil {
			continue
		}
		best.For = strings.Join(v.Of, " ")
		for _, text := range v.Of {
			best.Score -= own[text]
		}
		if best.Score > 0 {
			out = append(out, *best)
		}
	}
	return out, nil
}

// shown returns an entry as people read it, and as a folder names it.
func shown(entry string) string {
	if forms.IsForm(entry) {
		return entry[1:] // a name may have the sign that is between the terms of a phrase
	}
	return strings.ReplaceAll(entry, forms.PairGap, " ")
}

// score returns what is said of a leaf; nil where the passage does not have it.
func (l *leaf) score(whys map[leaf]*explanation) (*storage.TermScore, error) {
	why := whys[*l]
	if why == nil {
		return nil, nil
	}
	value, err := strconv.ParseFloat(why.Value.String(), 32)
	if err != nil {
		return nil, fmt.Errorf("%w: the score of %q: %w", cluster.ErrAnswer, l.text, err)
	}
	score := storage.TermScore{Term: shown(l.text), Boost: float64(l.count), Score: value}
	frequency, err := why.number("freq, ")
	if err != nil {
		return nil, err
	}
	documents, err := why.number("n, ")
	if err != nil {
		return nil, err
	}
	score.IDF, err = why.number("idf, ")
	if err != nil {
		return nil, err
	}
	score.Frequency, score.DocFrequency = int(frequency), int(documents)
	return &score, nil
}

// number returns the value of the part whose description begins so.
func (e *explanation) number(start string) (float64, error) {
	if e == nil {
		return 0, fmt.Errorf("%w: it explains nothing", cluster.ErrAnswer)
	}
	if strings.HasPrefix(e.Description, start) {
		value, err := strconv.ParseFloat(e.Value.String(), 32)
		return value, err
	}
	for i := range e.Details {
		if value, err := e.Details[i].number(start); err == nil {
			return value, nil
		}
	}
	return 0, fmt.Errorf("%w: its explanation has no %q", cluster.ErrAnswer, strings.TrimSuffix(start, ", "))
}
