package opensearch

import (
	"context"
	"slices"
	"strings"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/schema"
)

// Of the first passage of an answer it is asked which of the question's words and phrases it has. Which passage that
// will be is not known when the scores of candidates are fetched, so all are looked through then, by
// the names of the terms that each meets, which saves a request.

// wantsNames reports whether a search for scores should also ask which terms each passage has, so that Holds needs no
// request of its own. That is so if the key is of words or phrases, Rarities was called (Holds follows it), the names
// are not known yet, and the question's terms fit into one search.
func (r *request) wantsNames(key scoreKey) bool {
	if key.field != schema.FieldWords && key.field != schema.FieldPairs ||
		len(words{r, key.field}.query(key.question).splitQueries()) != 1 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holding && r.holds[key] == nil
}

// namedScoreSearches returns the searches that score passages for a key of scores; the score of a passage is the sum of
// its scores in their answers, and each hit also has the names of the question's terms that the passage has.
func (r *request) namedScoreSearches(key scoreKey, ordinals []rank.Ordinal) []object {
	searches := r.scoreSearches(key, ordinals)
	for _, s := range searches {
		nameTerms(s["query"])
	}
	return searches
}

// nameTerms sets the name (leaf.name) of each term in a query, in place, so that a hit says which of them it has.
func nameTerms(query any) {
	clause, _ := query.(object)
	if term, ok := clause["term"].(object); ok {
		for field, body := range term {
			body := body.(object)
			value, _ := body["value"].(string)
			body["_name"] = (&leaf{field: field, value: value}).name()
		}
		return
	}
	for _, one := range innerQueries(query) {
		nameTerms(one)
	}
}

// takeNamed keeps the scores and the named terms in the answers to namedScoreSearches, for Holds. Scores that are
// known stay as they are. No terms are kept if an answer is not of all shards.
func (r *request) takeNamed(key scoreKey, ordinals []rank.Ordinal, answers []searchAnswer) {
	has := make(map[string]map[string]bool, len(ordinals))
	for _, a := range answers {
		for _, h := range a.hits {
			if has[h.id] == nil {
				has[h.id] = map[string]bool{}
			}
			for _, name := range h.named {
				has[h.id][name] = true
			}
		}
	}
	holds := make(map[rank.Ordinal]map[string]bool, len(ordinals))
	for i, id := range r.table.idsOf(ordinals) {
		if names, there := has[id]; there && firstLostError(answers) == nil {
			holds[ordinals[i]] = names
		}
	}
	missing := r.withoutScore(key, ordinals)
	r.takeScores(key, missing, answers)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[key] = holds
}

// Holds returns the terms and forms of a question that a passage has. They are known without a request, and have no
// scores, if the scores of candidates were fetched with names (takeNamed). Otherwise, and where a form of several words
// has to be compared with those words, the cluster explains the passage. It fails if the cluster then does not answer.
func (w words) Holds(ctx context.Context, question string, passage rank.Ordinal) ([]storage.TermScore, error) {
	q := w.query(question)
	w.mu.Lock()
	names, known := w.holds[scoreKey{w.field, question}][passage]
	w.mu.Unlock()
	own, forms := q.allLeaves()
	if !known || w.field == schema.FieldWords && !q.counted || q.needsScores(own, forms, names) {
		return w.Explain(ctx, question, passage)
	}
	var out []storage.TermScore
	for _, l := range own {
		if names[l.name()] {
			out = append(out, storage.TermScore{Term: shownEntry(l.text)})
		}
	}
	for i, leaves := range forms {
		has := slices.IndexFunc(leaves, func(l leaf) bool { return names[l.name()] })
		if v := q.variants[i].Of; has >= 0 && !(len(v) == 1 && names[(&leaf{field: q.field, value: v[0]}).name()]) {
			out = append(out, storage.TermScore{Term: shownEntry(leaves[has].text), For: strings.Join(q.variants[i].Of, " ")})
		}
	}
	return out, nil
}

// needsScores reports whether a passage has a form of several words and one of these words itself. Which of them
// counts is a matter of their scores, which names do not tell.
func (q *wordQuery) needsScores(own []leaf, forms [][]leaf, names map[string]bool) bool {
	for i, leaves := range forms {
		if !slices.ContainsFunc(leaves, func(l leaf) bool { return names[l.name()] }) {
			continue
		}
		for _, text := range q.variants[i].Of {
			if len(q.variants[i].Of) > 1 &&
				slices.ContainsFunc(own, func(l leaf) bool { return l.text == text && names[l.name()] }) {
				return true
			}
		}
	}
	return false
}
