package opensearch

import (
	"context"

	"example.org/conclave/bm25"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/schema"
)

// wording is a word or a phrase that passages must have, or must not have.
type wording struct {
	words bm25.Wording
	not   bool
	// having are the clauses of the passages that may have it, by its terms, and by the pairs of
	// these, where the store has pairs; none: by its words, all may have it.
	having []any
	// exact are those that have it, where texts were compared.
	exact any
}

// filterWordings returns the wordings of a filter, those of Must first, and those of MustNot with not set. w are the
// parameters of the index's words. No passage was compared with them yet (compareWordings).
func filterWordings(f storage.Filter, w bm25.Params) (out []*wording) {
	for _, list := range []struct {
		texts []string
		not   bool
	}{{f.Must, false}, {f.MustNot, true}} {
		for _, text := range list.texts {
			out = append(out, &wording{words: bm25.WordingOf(text), not: list.not, having: termClauses(text, w)})
		}
	}
	return out
}

// termClauses returns the clauses that every passage with the text as it is written meets: of its terms, and of its
// phrases if the index has them. None is returned for a text without terms, such as one of stop words. A text of one
// word also matches its other forms, such as wi-fi for wifi.
func termClauses(text string, w bm25.Params) (all []any) {
	for _, term := range w.Analysis.Terms(text) {
		all = append(all, object{"term": object{schema.FieldWords: term}})
	}
	if w.Phrases {
		for _, pair := range w.Analysis.QuestionPairs(text) {
			all = append(all, object{"term": object{schema.FieldPairs: pair}})
		}
	}
	if len(all) == 0 || bm25.WordingOf(text).Words() > 1 {
		return all
	}
	ways := []any{allOf(all)}
	for _, v := range w.Analysis.Variants(text) { // of one word, such as wi-fi for wifi
		for _, entry := range v.Entries {
			field, value := fieldOfEntry(entry)
			ways = append(ways, object{"term": object{field: value}})
		}
	}
	if len(ways) == 1 {
		return all
	}
	return []any{sumOf(ways)}
}

// allOf returns the query of the documents that meet all clauses. all must not be empty.
func allOf(all []any) any {
	if len(all) == 1 {
		return all[0]
	}
	return object{"bool": object{"filter": all}}
}

// wordingClauses returns the clauses of a query that passages meet if they have the wordings, or have them not. A
// wording whose exact is not set (compareWordings) counts as had by all passages with its terms; one without terms,
// such as one of stop words, gives no clause then.
func wordingClauses(wordings []*wording) (clauses []any) {
	for _, x := range wordings {
		having := x.having
		if x.exact != nil {
			having = []any{x.exact}
		}
		switch {
		case len(having) == 0:
		case x.not:
			clauses = append(clauses, object{"bool": object{"must_not": object{"bool": object{"filter": having}}}})
		default:
			clauses = append(clauses, having...)
		}
	}
	return clauses
}

// mostCompared is how many passages are read at most to see whether they have a wording, and
// comparedBytes how large they are together: where more have its terms, these are relied on.
const (
	mostCompared  = 1_000
	comparedBytes = 16 << 20
)

// compareWordings reads the passages that may have a wording, among those that meet the clauses among, and sets exact
// to the query of those that have it as it is written. It does so for wordings of several words, and for those without
// terms, unless more than mostCompared passages, or comparedBytes, would have to be read: then exact stays nil. It
// fails if the cluster does.
func (s *Store) compareWordings(ctx context.Context, wordings []*wording, among []any) error {
	var todo []*wording
	var searches []object
	for _, x := range wordings {
		if len(x.having) > 0 && !x.words.Exact() {
			continue
		}
		todo = append(todo, x)
		searches = append(
			searches,
			object{
				"size":             mostCompared + 1,
				"track_total_hits": false,
				"_source":          false,
				"docvalue_fields":  []string{schema.FieldBytes},
				"query": object{
					"bool": object{"filter": append(append([]any{object{"match_all": object{}}}, x.having...), among...)},
				},
			},
		)
	}
	answers, err := s.multiPartly(ctx, searches)
	if err != nil {
		return err
	}
	var comparing []*wording
	searches = nil
	for i, x := range todo {
		bytes := 0
		ids := []string{}
		for _, h := range answers[i].hits {
			bytes = bytes + h.bytes
			ids = append(ids, h.id)
		}
		switch {
		case len(ids) > mostCompared || bytes > comparedBytes:
		case len(ids) == 0:
			x.exact = object{"match_none": object{}}
		default:
			comparing = append(comparing, x)
			searches = append(
				searches,
				object{
					"size":             len(ids),
					"track_total_hits": false,
					"_source":          append(schema.PassageFields(), schema.FieldVersion),
					"query":            object{"bool": object{"filter": s.idsQuery(ids)}},
				},
			)
		}
	}
	answers, err = s.multiPartly(ctx, searches)
	if err != nil {
		return err
	}
	for i, x := range comparing {
		ids := []string{}
		for _, h := range answers[i].hits {
			p, err := h.source.Passage(plainID(h.id))
			if err != nil {
				return err
			}
			if x.words.In(p.Title) || x.words.In(p.Text) {
				ids = append(ids, h.id)
			}
		}
		x.exact = s.idsQuery(ids)
	}
	return nil
}
