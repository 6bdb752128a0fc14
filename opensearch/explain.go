package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"conclave/bm25"
	"conclave/rank"
	"conclave/search"
)

// explanation is how Lucene says that a score came about.
type explanation struct {
	Value       json.Number   `json:"value"`
	Description string        `json:"description"`
	Details     []explanation `json:"details"`
}

// Explain implements search.WordIndex, in one request: a search for each term among this
// one passage, which the cluster explains.
func (w words) Explain(ctx context.Context, question string, passage rank.Ordinal) (out []search.TermScore, err error) {
	terms := termsOf(w.field, question)
	searches := make([]object, len(terms))
	for i := range terms {
		searches[i] = object{"size": 1, "explain": true, "track_total_hits": false, "_source": false,
			"query": object{"bool": object{"must": termsQuery(w.field, terms[i:i+1]), "filter": object{"ids": object{"values": w.table.of([]rank.Ordinal{passage})}}}}}
	}
	answers, err := w.store.multi(ctx, searches)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		if len(a.hits) == 0 {
			continue // the passage does not have the term
		}
		score := search.TermScore{Term: strings.ReplaceAll(terms[i].text, bm25.PairGap, " "), Boost: float64(terms[i].count), Score: float64(a.hits[0].score)}
		frequency, err := a.hits[0].why.number("freq, ")
		if err != nil {
			return nil, err
		}
		documents, err := a.hits[0].why.number("n, ")
		if err != nil {
			return nil, err
		}
		if score.IDF, err = a.hits[0].why.number("idf, "); err != nil {
			return nil, err
		}
		score.Frequency, score.DocFrequency = int(frequency), int(documents)
		out = append(out, score)
	}
	return out, nil
}

// number is the value of the part whose description begins so.
func (e *explanation) number(start string) (float64, error) {
	if e == nil {
		return 0, fmt.Errorf("%w: it explains nothing", errAnswer)
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
	return 0, fmt.Errorf("%w: its explanation has no %q", errAnswer, strings.TrimSuffix(start, ", "))
}
