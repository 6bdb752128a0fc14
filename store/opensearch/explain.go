package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
)

// explanation is how Lucene says that a score came about.
type explanation struct {
	Value       json.Number   `json:"value"`
	Description string        `json:"description"`
	Details     []explanation `json:"details"`
}

// Explain implements search.WordIndex, in one request: a search for each term, and each
// other form that passages have, among this one passage, which the cluster explains.
func (w words) Explain(ctx context.Context, question string, passage rank.Ordinal) (out []search.TermScore, err error) {
	q := w.query(question)
	if w.field == fieldWords {
		if err := w.count(ctx, q); err != nil {
			return nil, err
		}
	}
	var searches []object
	explained := func(query object) {
		searches = append(searches, object{"size": 1, "explain": true, "track_total_hits": false, "_source": false,
			"query": object{
				"bool": object{"must": query, "filter": object{"ids": object{"values": w.table.idsOf([]rank.Ordinal{passage})}}},
			}})
	}
	for _, t := range q.terms {
		explained(termQuery(w.field, t.text, t.count))
	}
	for i := range q.variants {
		for _, form := range q.forms(&q.variants[i]) {
			explained(form.(object))
		}
	}
	answers, err := w.store.multi(ctx, searches)
	if err != nil {
		return nil, err
	}
	own := map[string]float64{} // scores of terms
	for i, t := range q.terms {
		score, err := termScore(answers[i], t.text, t.count)
		if err != nil {
			return nil, err
		}
		if score != nil {
			out = append(out, *score)
			own[t.text] = score.Score
		}
	}
	answers = answers[len(q.terms):]
	for i := range q.variants {
		v := &q.variants[i]
		var best *search.TermScore
		entries, _ := q.known(v)
		for j, entry := range entries {
			score, err := termScore(answers[j], entry, v.Count)
			if err != nil {
				return nil, err
			}
			if score != nil && (best == nil || score.Score > best.Score) {
				best = score
			}
		}
		answers = answers[len(entries):]
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

// termScore returns what a search for one term or form among one passage says; nil where the
// passage does not have it.
func termScore(a said, text string, count int) (*search.TermScore, error) {
	if len(a.hits) == 0 {
		return nil, nil
	}
	if bm25.IsForm(text) {
		text = text[1:] // a name may have the sign that is between the terms of a phrase
	} else {
		text = strings.ReplaceAll(text, bm25.PairGap, " ")
	}
	score := search.TermScore{Term: text, Boost: float64(count), Score: float64(a.hits[0].score)}
	frequency, err := a.hits[0].why.number("freq, ")
	if err != nil {
		return nil, err
	}
	documents, err := a.hits[0].why.number("n, ")
	if err != nil {
		return nil, err
	}
	score.IDF, err = a.hits[0].why.number("idf, ")
	if err != nil {
		return nil, err
	}
	score.Frequency, score.DocFrequency = int(frequency), int(documents)
	return &score, nil
}

// number returns the value of the part whose description begins so.
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
