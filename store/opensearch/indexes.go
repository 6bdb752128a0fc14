package opensearch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/schema"
)

var notANumber = float32(math.NaN())

// words is BM25 over words or over phrases. Its scores are those of package bm25 to the
// last bit, since terms, constants and the arithmetic are the same.
type words struct {
	*request
	field string
}

// term is a term of a question, and how often the question has it.
type term struct {
	text  string
	count int
}

// termsOf returns the terms of a question in a field, FieldWords or FieldPairs: each once, in the order in which they
// come.
func termsOf(field string, analysis forms.Analysis, question string) (out terms) {
	all := analysis.QuestionTerms(question)
	if field == schema.FieldPairs {
		all = analysis.QuestionPairs(question)
	}
	at := map[string]int{}
	for _, text := range all {
		i, ok := at[text]
		if !ok {
			i = len(out)
			at[text] = i
			out = append(out, term{text: text})
		}
		out[i].count++
	}
	return out
}

// terms are those of a question.
type terms []term

// query returns the terms and forms that a question looks for. All steps of the request share one wordQuery, which is
// made at the first call.
func (w words) query(question string) *wordQuery {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := scoreKey{w.field, question}
	q, ok := w.wordQueries[key]
	if !ok {
		q = newWordQuery(w.field, w.store.Manifest().Words.Params().Analysis, question)
		w.wordQueries[key] = q
	}
	return q
}

// counting is the counting of a question's words, for whoever needs them.
type counting struct{ done chan struct{} }

// countTerms counts how many passages have the terms and forms of a question and keeps the counts in q, unless q has
// them. Words and phrases are counted together, once for all that wait for them. It waits without the turn to compute.
// It fails if no shard answers, or ctx ends.
func (w words) countTerms(ctx context.Context, q *wordQuery) error {
	w.mu.Lock()
	counted := q.counted
	w.mu.Unlock()
	if counted {
		return nil
	}
	counts, err := w.countTogether(ctx, q)
	if err == nil {
		w.mu.Lock()
		q.takeCounts(counts)
		w.mu.Unlock()
	}
	return err
}

// countTogether returns how many passages have each term and form that q looks up. Counts that the corpus keeps need
// no request. The first caller for a question asks for the words and, if phrases are indexed, the phrases in one
// request; callers that come meanwhile wait for its counts. It fails if the counts are not known and no shard
// answers, or ctx ends.
func (w words) countTogether(ctx context.Context, q *wordQuery) (*termCounts, error) {
	entries := q.lookedUp()
	if counts := w.corpus.knownCounts(entries); counts != nil {
		return counts, nil
	}
	w.mu.Lock()
	under := w.counting[q.question]
	first := under == nil
	if first {
		under = &counting{done: make(chan struct{})}
		w.counting[q.question] = under
	}
	w.mu.Unlock()
	if !first {
		err := turn.Elsewhere(ctx, func() error {
			select {
			case <-under.done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil {
			return nil, err
		}
		return w.termCounts(ctx, entries) // those that are kept by now, or what was not asked for
	}
	defer close(under.done)
	all := entries
	if w.store.Manifest().Words.Phrases {
		for _, field := range []string{schema.FieldWords, schema.FieldPairs} {
			if field != q.field {
				all = slices.Concat(all, words{w.request, field}.query(q.question).lookedUp())
			}
		}
	}
	return w.termCounts(ctx, all)
}

// Search returns the k passages with the highest BM25 scores, the best first, and equal ones by id; nil if the
// question has no term. It first asks the cluster which words have other forms in the index. A *storage.PartialError
// comes with hits: they are of a part of the shards, or words were counted inexactly. The scores are kept for Scores.
func (w words) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	q := w.query(question)
	if q.isEmptyQuery() {
		return nil, nil
	}
	hits, err := w.searchWords(ctx, q, k)
	var lacks *storage.PartialError
	if err != nil && !errors.As(err, &lacks) {
		return nil, err
	}
	ordinals, scores := make([]rank.Ordinal, len(hits)), make([]float32, len(hits))
	for i, h := range hits {
		ordinals[i], scores[i] = h.Ordinal, h.Score
	}
	w.keepScores(scoreKey{w.field, question}, ordinals, scores)
	return hits, err
}

// searchWords returns the first k passages of a question whose forms are known. With a *storage.PartialError they are
// of a part of the shards, or words were counted inexactly.
func (w words) searchWords(ctx context.Context, q *wordQuery, k int) ([]rank.Hit, error) {
	if w.field == schema.FieldWords || q.termCount() > mostClauses { // phrases have no forms
		if err := w.countTerms(ctx, q); err != nil {
			return nil, err
		}
	}
	hits, err := w.searchKnown(ctx, q, k)
	if err == nil && q.counted {
		err = w.partialCountsError()
	}
	return hits, err
}

// searchKnown returns the first k passages by the terms and forms of a wordQuery: in one search, or in several
// (searchInParts) if they are more than mostClauses. A *storage.PartialError says that hits are of a part of the
// shards.
func (w words) searchKnown(ctx context.Context, q *wordQuery, k int) ([]rank.Hit, error) {
	parts := q.splitQueries()
	if len(parts) != 1 {
		return w.searchInParts(ctx, parts, k)
	}
	hits, answers, err := w.search(ctx, w.addFilter(sumOf(parts[0])), k, nil)
	if err != nil {
		return nil, err
	}
	return hits, partialAnswerError(answers)
}

// addFilter returns the query of the passages that query finds and the request's filter lets through. Scores stay
// those of query.
func (w words) addFilter(query object) object {
	if len(w.filter) > 0 {
		return object{"bool": object{"must": query, "filter": w.filter}}
	}
	return query
}

// partialAnswerError returns a *storage.PartialError if one of the answers is not of all shards, else nil.
func partialAnswerError(answers []searchAnswer) error {
	if err := firstLostError(answers); err != nil {
		return &storage.PartialError{
			Reason: "passages are missing: a part of the index has no copy on a node that answers",
			Err:    err,
		}
	}
	return nil
}

// Scores writes the BM25 score of each passage for a question to out, which must have an element for each: 0 for one
// without a term of the question, NaN for one whose shard does not answer. It asks the cluster only for scores that
// the request does not know. It fails if the cluster does not answer.
func (w words) Scores(ctx context.Context, question string, passages []rank.Ordinal, out []float32) error {
	q := w.query(question)
	if q.isEmptyQuery() {
		clear(out)
		return nil
	}
	if w.field == schema.FieldWords { // phrases have no forms
		if err := w.countTerms(ctx, q); err != nil {
			return err
		}
	}
	return w.fetchScores(ctx, scoreKey{w.field, question}, passages, out)
}

// UpperBound returns a score that no passage exceeds for a question, from the counts of its terms; 0 if there is
// nothing to look for. If words were counted inexactly, in a part of the shards or before the latest changes, it
// returns the bound by these counts and a *storage.PartialError; a passage may exceed it then. With any other error the
// bound is 0.
func (w words) UpperBound(ctx context.Context, question string) (float64, error) {
	q := w.query(question)
	if q.isEmptyQuery() {
		return 0, nil
	}
	if err := w.countTerms(ctx, q); err != nil {
		return 0, err
	}
	return q.upperBound(), w.partialCountsError()
}

// Rarities returns, for each text, its terms with how many passages have them or a form of theirs, and their IDF. It
// takes a request only for terms that were not counted yet. With a *storage.PartialError they were counted inexactly.
// From now on scores are asked for with the names of terms (wantsNames).
func (w words) Rarities(ctx context.Context, texts []string) ([][]storage.Rarity, error) {
	w.mu.Lock()
	w.holding = true
	w.mu.Unlock()
	var entries []entry
	for _, text := range texts {
		entries = append(entries, w.query(text).lookedUp()...)
	}
	counts, err := w.termCounts(ctx, entries)
	if err != nil {
		return nil, err
	}
	all := counts.all[w.field]
	out := make([][]storage.Rarity, len(texts))
	for i, text := range texts {
		own := w.query(text)
		for _, t := range own.terms {
			df := counts.byEntry[entry{w.field, t.text}]
			for _, v := range own.variants {
				for _, other := range v.Entries {
					if field, value := fieldOfEntry(other); len(v.Of) == 1 && v.Of[0] == t.text {
						df = max(df, counts.byEntry[entry{field, value}])
					}
				}
			}
			idf := float64(bm25.IDF(df, all))
			out[i] = append(
				out[i],
				storage.Rarity{
					Term:         shownEntry(t.text),
					Count:        t.count,
					DocFrequency: int(df),
					IDF:          idf,
					Relative:     idf / float64(bm25.IDF(0, all)),
				},
			)
		}
	}
	return out, w.partialCountsError()
}

// vectors are those of an expert, one for each passage.
type vectors struct {
	*request
	expert schema.Expert
}

// Search returns the k passages nearest to a vector by inner product, the best first, and equal ones by id; a passage
// in windows counts by its best one. It searches the graphs, or if exact compares with all. It fails if the vector
// has not the expert's dimension. A *storage.PartialError comes with hits that are of a part of the shards. The
// scores are kept for Scores.
func (v vectors) Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error) {
	if len(query) != v.expert.Dimension {
		return nil, fmt.Errorf(
			"the question has %d numbers, and expert %s has %d", len(query), v.expert.Name, v.expert.Dimension,
		)
	}
	var find object
	if exact {
		among := object{"match_all": object{}}
		if len(v.filter) > 0 {
			among = object{"bool": object{"filter": v.filter}}
		}
		find = v.exactQuery(v.expert.Field(), query, among)
	} else {
		near := object{"vector": query, "k": graphHits(k)}
		if len(v.filter) > 0 {
			near["filter"] = object{"bool": object{"filter": v.filter}}
		}
		find = v.nearestQuery(v.expert, near)
	}
	var fields []string
	if _, compared := v.corpus.compared.Load(v.expert.Name); compared {
		fields = v.expert.Sources()
	}
	hits, answers, err := v.search(ctx, find, k, fields)
	if err != nil {
		return nil, err
	}
	for i, h := range answers[0].hits {
		if fields == nil {
			break
		}
		if err := v.takeVector(v.expert, hits[i].Ordinal, h.source); err != nil {
			return nil, fmt.Errorf("passage %q: %w", h.id, err)
		}
	}
	ordinals, scores := make([]rank.Ordinal, len(hits)), make([]float32, len(hits))
	for i := range hits {
		hits[i].Score = innerProduct(hits[i].Score)
		ordinals[i], scores[i] = hits[i].Ordinal, hits[i].Score
	}
	v.mu.Lock()
	key := v.rememberVector(query)
	v.mu.Unlock()
	v.keepScores(key, ordinals, scores)
	return hits, partialAnswerError(answers)
}

// graphHits returns how many candidates the graph of a shard keeps when k hits are asked for (its ef): 3k, at least as
// many as the graph of a folder keeps by default. With k alone, three shards of 43,378 passages find 0.967 of the 100
// best; with 3k 0.992, as a folder does.
func graphHits(k int) int { return min(mostHits, max(120, 3*k)) }

// rememberVector returns the key under which scores of a vector are kept: a new one, or that of an earlier call with
// the same slice. The caller holds mu.
func (v vectors) rememberVector(query []float32) scoreKey {
	key := v.findRemembered(query)
	if key.field == "" {
		key = scoreKey{v.expert.Field(), strconv.Itoa(len(v.queries))}
		v.queries[key] = query
	}
	return key
}

// findRemembered returns the key that rememberVector gave for this slice; its field is "" if there is none. The caller
// holds mu.
func (v vectors) findRemembered(query []float32) scoreKey {
	for key, other := range v.queries {
		if key.field == v.expert.Field() && &other[0] == &query[0] {
			return key
		}
	}
	return scoreKey{}
}

// Scores writes the inner product of a vector with each passage's vector, or its best window's, to out; rank.NoVector
// for a passage that the expert left out, and NaN for one that is gone. The cluster computes those of a vector that was
// searched with. For others, such as those of an ensemble's members, the vectors of the passages are fetched once and
// scored here, to the last bit as those of a folder are: MUF divides the members' scores by a temperature of 1e-4,
// which made a difference of 1e-7 one of 8e-5 in a contribution. It fails if the vector has another dimension.
func (v vectors) Scores(ctx context.Context, query []float32, passages []rank.Ordinal, out []float32) error {
	if len(query) != v.expert.Dimension {
		return fmt.Errorf("the question has %d numbers, and expert %s has %d", len(query), v.expert.Name, v.expert.Dimension)
	}
	v.mu.Lock()
	key := v.findRemembered(query)
	v.mu.Unlock()
	if key.field != "" && !v.areSampled(passages) {
		return v.fetchScores(ctx, key, passages, out)
	}
	if key.field == "" {
		v.corpus.compared.Store(v.expert.Name, true)
	}
	if err := v.fetchVectors(ctx, v.expert, passages); err != nil {
		return err
	}
	for i, o := range passages {
		all := v.vectorAt(v.expert, o)
		out[i] = notANumber
		if all != nil && len(all) == 0 {
			out[i] = rank.NoVector
		}
		for vector := range slices.Chunk(all, v.expert.Dimension) { // of each window
			var product [1]float32
			ann.Products(query, [][]float32{vector}, product[:])
			if !(out[i] >= product[0]) {
				out[i] = product[0]
			}
		}
	}
	return nil
}

// areSampled reports whether all these passages are in the sample, so that their vectors are in memory.
func (v vectors) areSampled(passages []rank.Ordinal) bool {
	return !slices.ContainsFunc(passages, func(o rank.Ordinal) bool { return v.sample.vector(v.expert, o) == nil })
}

// nearestQuery returns the query of the passages whose vector, or that of one of their windows, is nearest: near is
// the body of the cluster's knn query.
func (r *request) nearestQuery(x schema.Expert, near object) object {
	find := object{"knn": object{x.Field(): near}}
	windows := x.WindowsField()
	return betterOf(find, bestWindowQuery(windows, object{"knn": object{windows + "." + schema.FieldVector: near}}))
}

// exactQuery returns the query that scores every passage that among finds by its vector in a field, or that of its
// best window, without the graph. Passages without a vector are no hits.
func (r *request) exactQuery(field string, vector []float32, among object) object {
	compare := func(with string, query object) object {
		return object{"script_score": object{"query": query, "script": object{"lang": "knn", "source": "knn_score",
			"params": object{"field": with, "query_value": vector, "space_type": "innerproduct"}}}}
	}
	find := compare(field, object{"bool": object{"filter": []any{among, object{"exists": object{"field": field}}}}})
	name, _ := strings.CutPrefix(field, schema.VectorField)
	windows := schema.Expert{Name: name}.WindowsField()
	return betterOf(find, object{"bool": object{"filter": among,
		"must": bestWindowQuery(windows, compare(windows+"."+schema.FieldVector, object{"match_all": object{}}))}})
}

// betterOf returns the query that scores a passage as the better of two queries.
func betterOf(a, b object) object { return object{"dis_max": object{"queries": []any{a, b}}} }

// bestWindowQuery returns a query that gives a passage the highest score that query gives one of its windows. field is
// the expert's field of windows.
func bestWindowQuery(field string, query object) object {
	return object{"nested": object{"path": field, "score_mode": "max", "ignore_unmapped": true, "query": query}}
}

// noVectorScore is the score of a passage without a vector among those that are to be scored.
const noVectorScore = 0

// innerProduct returns the inner product from which the cluster made a score: x+1 of one above 0, else 1/(1-x). It is
// rank.NoVector, minus infinity, of noVectorScore.
func innerProduct(score float32) float32 {
	if score >= 1 {
		return score - 1
	}
	return 1 - 1/score
}
