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

// leaf is one value that a query looks for in a field: a term of a question, or a form of some of its terms that
// passages have.
type leaf struct {
	text         string // of the entry
	field, value string
	boost        any
	count        int // how often the question has it
}

// name returns the name of the leaf in a query, by which a hit says that it has it: FIELD:VALUE.
func (l *leaf) name() string { return l.field + ":" + l.value }

// allLeaves returns the leaves of a query: the terms and forms that it looks for in the index. own has one for each
// term of the question, in their order. forms[i] has, for q.variants[i], one for each of its forms that some passage
// has by q's counts; it is empty if there is none.
func (q *wordQuery) allLeaves() (own []leaf, forms [][]leaf) {
	for _, t := range q.terms {
		own = append(own, leaf{t.text, q.field, t.text, t.count, t.count})
	}
	for i := range q.variants {
		v := &q.variants[i]
		entries, boosts := q.knownEntries(v)
		list := make([]leaf, len(entries))
		for j, entry := range entries {
			field, value := fieldOfEntry(entry)
			list[j] = leaf{entry, field, value, boosts[j], v.Count}
		}
		forms = append(forms, list)
	}
	return own, forms
}

// Explain returns the terms and forms of a question that a passage has, with their scores, by the cluster's
// explanation of this one passage: one search for each mostClauses terms, in one request. It returns none for a
// passage that is gone, and fails if a part of the index has no copy that answers.
func (w words) Explain(ctx context.Context, question string, passage rank.Ordinal) ([]storage.TermScore, error) {
	q := w.query(question)
	if w.field == schema.FieldWords {
		if err := w.countTerms(ctx, q); err != nil {
			return nil, err
		}
	}
	own, forms := q.allLeaves()
	whys, err := w.explain(ctx, slices.Concat(own, slices.Concat(forms...)), passage)
	if err != nil {
		return nil, err
	}
	return q.explainPassage(own, forms, func(l *leaf) (*storage.TermScore, error) { return l.score(whys) })
}

// explain returns the cluster's explanation of the score of each leaf that the passage has; other leaves are not in
// the map. It asks for mostClauses leaves in a search, and all searches in one request. It fails if a shard has no
// copy that answers.
func (w words) explain(ctx context.Context, leaves []leaf, passage rank.Ordinal) (map[leaf]*explanation, error) {
	among := w.store.idsQuery(w.table.idsOf([]rank.Ordinal{passage}))
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
		a.hits[0].why.collectWeights(byName)
		for _, l := range parts[i] {
			if why := byName[l.name()]; why != nil {
				out[l] = why
			}
		}
	}
	return out, nil
}

// collectWeights adds to into the explanation of each term that e has in it, at any depth. Its key is FIELD:VALUE, from
// the description "weight(FIELD:VALUE in DOCUMENT)" that Lucene gives it.
func (e *explanation) collectWeights(into map[string]*explanation) {
	if rest, ok := strings.CutPrefix(e.Description, "weight("); ok {
		if at := strings.LastIndex(rest, " in "); at > 0 {
			into[rest[:at]] = e
		}
		return
	}
	for i := range e.Details {
		e.Details[i].collectWeights(into)
	}
}

// explainPassage returns the scores of a passage: of each term that it has, and of each variant its best form, less the
// scores of the terms that the form stands for. terms and forms are those of allLeaves. scoreOf returns nil for a leaf
// that the passage does not have; its errors are returned.
func (q *wordQuery) explainPassage(
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

// shownEntry returns an entry of the words or phrases of an index as people read it, and as a collection in a folder
// names it: another form of a word without its mark, a pair of terms with a space between them, and a term as it is.
func shownEntry(entry string) string {
	if forms.IsForm(entry) {
		return entry[1:] // a name may have the sign that is between the terms of a phrase
	}
	return strings.ReplaceAll(entry, forms.PairGap, " ")
}

// score returns the score of the leaf's term in a passage, taken from the cluster's explanations of it (explain); nil
// without an error if the passage does not have the term. It returns an error if an explanation lacks a part, such as
// the frequency.
func (l *leaf) score(whys map[leaf]*explanation) (*storage.TermScore, error) {
	why := whys[*l]
	if why == nil {
		return nil, nil
	}
	value, err := strconv.ParseFloat(why.Value.String(), 32)
	if err != nil {
		return nil, fmt.Errorf("%w: the score of %q: %w", cluster.ErrAnswer, l.text, err)
	}
	score := storage.TermScore{Term: shownEntry(l.text), Boost: float64(l.count), Score: value}
	frequency, err := why.partValue("freq, ")
	if err != nil {
		return nil, err
	}
	documents, err := why.partValue("n, ")
	if err != nil {
		return nil, err
	}
	score.IDF, err = why.partValue("idf, ")
	if err != nil {
		return nil, err
	}
	score.Frequency, score.DocFrequency = int(frequency), int(documents)
	return &score, nil
}

// partValue returns the value of the first part of an explanation, searched depth first, whose description begins with
// start, such as "freq, ". It returns an ErrAnswer if there is none or e is nil.
func (e *explanation) partValue(start string) (float64, error) {
	if e == nil {
		return 0, fmt.Errorf("%w: it explains nothing", cluster.ErrAnswer)
	}
	if strings.HasPrefix(e.Description, start) {
		value, err := strconv.ParseFloat(e.Value.String(), 32)
		return value, err
	}
	for i := range e.Details {
		if value, err := e.Details[i].partValue(start); err == nil {
			return value, nil
		}
	}
	return 0, fmt.Errorf("%w: its explanation has no %q", cluster.ErrAnswer, strings.TrimSuffix(start, ", "))
}
