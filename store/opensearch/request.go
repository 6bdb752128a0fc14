package opensearch

import (
	"context"
	"maps"
	"slices"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/schema"
)

// request is what one question asks of a store, and what was answered. It implements storage.Indexes, and is safe for
// concurrent use.
type request struct {
	store  *Store
	corpus *Corpus
	table  *table
	sample *placedSample // nil: there is none
	filter []any         // clauses that a hit has to meet
	*fetched
}

// fetched is what was asked and what was answered.
type fetched struct {
	mu          sync.Mutex
	asked       []scoreKey                            // in the order in which they were asked
	queries     map[scoreKey][]float32                // of the experts
	late        []schema.Expert                       // that were handed out
	expecting   map[scoreKey]lateQuestion             // of late interaction
	scores      map[scoreKey]map[rank.Ordinal]float32 // that were fetched
	vectors     map[string]map[rank.Ordinal][]float32 // by expert
	passages    map[rank.Ordinal]corpus.Passage       // whose texts were read
	given       map[rank.Ordinal]bool                 // whose texts were found
	codes       map[string]map[rank.Ordinal][]byte
	wordQueries map[scoreKey]*wordQuery
	holding     bool                                          // it will be asked what candidates hold
	holds       map[scoreKey]map[rank.Ordinal]map[string]bool // which leaves passages have, by their names
	counting    map[string]*counting                          // by question
	guessed     *keptCounts                                   // that were not exact, as this question was told them
	nearing     bool                                          // nearness will be asked for
	nearTexts   map[rank.Ordinal]titled                       // that nearness reads; empty: it is gone
	gathering   *gathering                                    // nil: nobody announced searches
}

// newFetched returns the memory of a request that has fetched nothing yet.
func newFetched() *fetched {
	return &fetched{
		queries:     map[scoreKey][]float32{},
		expecting:   map[scoreKey]lateQuestion{},
		scores:      map[scoreKey]map[rank.Ordinal]float32{},
		vectors:     map[string]map[rank.Ordinal][]float32{},
		codes:       map[string]map[rank.Ordinal][]byte{},
		passages:    map[rank.Ordinal]corpus.Passage{},
		given:       map[rank.Ordinal]bool{},
		wordQueries: map[scoreKey]*wordQuery{},
		holds:       map[scoreKey]map[rank.Ordinal]map[string]bool{},
		counting:    map[string]*counting{},
		nearTexts:   map[rank.Ordinal]titled{},
		guessed:     &keptCounts{termCounts: newTermCounts()},
	}
}

// termCounts returns how many passages have each of the entries. Counts that were inexact stay as this request got
// them first, so that it waits for them once; lacks then returns an error.
func (r *request) termCounts(ctx context.Context, entries []entry) (*termCounts, error) {
	out, missing := r.guessed.split(entries)
	counts, err := r.corpus.termCounts(ctx, missing)
	if err != nil {
		return nil, err
	}
	if counts.inexact != "" {
		r.guessed.keep(counts)
	}
	out.addEntries(counts)
	return out, nil
}

// partialCountsError returns a *storage.PartialError if words of this question were counted inexactly, else nil.
func (r *request) partialCountsError() error {
	r.guessed.mu.Lock()
	defer r.guessed.mu.Unlock()
	return r.guessed.partialError()
}

// Separate returns the same indexes for another question about the same view. They share nothing that this request
// fetched, such as scores and vectors.
func (r *request) Separate() storage.Indexes {
	out := *r
	out.fetched = newFetched()
	return &out
}

// scoreKey is the key of scores: a field, and what was asked of it: the text of a question, or the number of a vector
// among those asked.
type scoreKey struct{ field, question string }

// Words returns the index of words.
func (r *request) Words() storage.WordIndex { return words{r, schema.FieldWords} }

// Phrases returns the index of phrases; nil if the store has none.
func (r *request) Phrases() storage.WordIndex {
	if !r.store.Manifest().Words.Phrases {
		return nil
	}
	return words{r, schema.FieldPairs}
}

// Vectors returns the index of an expert's vectors; false if the store has no such expert. The index of an expert of
// late interaction only scores: its Search fails. For an expert without vectors of its own it is that of their owner.
func (r *request) Vectors(expert string) (storage.VectorIndex, bool) {
	x, ok := r.store.Manifest().Expert(expert)
	if !ok {
		return nil, false
	}
	if x.Late {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.late = append(r.late, x)
		return tokens{r, x}, true
	}
	if x.Owner != "" {
		x, _ = r.store.Manifest().Expert(x.Owner)
	}
	return vectors{r, x}, true
}

// MostCandidates is how many hits of a source a cluster returns at most (index.max_result_window), and how many
// passages the graph of a shard keeps.
const MostCandidates = 10_000

const mostHits = MostCandidates

// hitsSearch returns the search for the first k hits of a query, mostHits at most, with fields of their documents, in
// the order of rankings.
func (r *request) hitsSearch(query object, k int, fields []string) object {
	find := object{
		"size":             min(k, mostHits),
		"query":            query,
		"sort":             r.store.sortOrder(),
		"track_scores":     true,
		"track_total_hits": false,
		"_source":          fields,
		"docvalue_fields":  []string{schema.FieldBytes, schema.FieldPrint},
	}
	if len(fields) == 0 {
		return withoutStored(find)
	}
	return find
}

// search returns the first k hits of a query, mostHits at most, in the order of rankings, with the cluster's answer,
// which has the given fields of their documents. The search is sent with those of the question's other sources
// (searchTogether). Shards that do not answer are no error here (partialAnswerError).
func (r *request) search(
	ctx context.Context,
	query object,
	k int,
	fields []string,
) ([]rank.Hit, []searchAnswer, error) {
	answers, err := r.searchTogether(ctx, []object{r.hitsSearch(query, k, fields)})
	if err != nil {
		return nil, nil, err
	}
	hits := make([]rank.Hit, len(answers[0].hits))
	for i, h := range answers[0].hits {
		hits[i] = rank.Hit{Ordinal: r.table.ordinal(h.id, h.bytes, h.print), Score: h.score}
	}
	return hits, answers, nil
}

// keepScores keeps the scores of passages under a key, so that they are not asked for again. From then on Prefetch
// asks for scores under this key, too.
func (r *request) keepScores(key scoreKey, ordinals []rank.Ordinal, scores []float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scores[key] == nil {
		r.scores[key] = map[rank.Ordinal]float32{}
		r.asked = append(r.asked, key)
	}
	for i, o := range ordinals {
		r.scores[key][o] = scores[i]
	}
}

// withoutScore returns those of ordinals that have no score under a key yet, in their order.
func (r *request) withoutScore(key scoreKey, ordinals []rank.Ordinal) (out []rank.Ordinal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range ordinals {
		if _, ok := r.scores[key][o]; !ok {
			out = append(out, o)
		}
	}
	return out
}

// Prefetch fetches the scores of passages by all that this request searched and by late interaction, or the codes by
// which these are computed, and the texts that nearness reads, in one request for each mostHits passages. It returns
// the passages that are gone: all shards were asked for them, and none has them. If the cluster fails it returns no
// error: each index then asks for its own scores, so that one that cannot answer fails alone. Its only error is that
// of ctx.
func (r *request) Prefetch(ctx context.Context, ordinals []rank.Ordinal) (gone []rank.Ordinal, err error) {
	for some := range slices.Chunk(ordinals, mostHits) {
		without, err := r.prefetch(ctx, some)
		if err != nil {
			return nil, err
		}
		gone = append(gone, without...)
	}
	return gone, nil
}

// Contains reports, for each passage, whether it is in the index and meets the filter. It asks the nodes once, and sees
// what searches see. A passage of which there is only the copy that a replacement keeps meanwhile (a stand-in) is not
// in the index. It fails if a shard does not answer.
func (r *request) Contains(ctx context.Context, passages []rank.Ordinal) ([]bool, error) {
	out := make([]bool, len(passages))
	if len(passages) == 0 {
		return out, nil
	}
	ids := r.table.idsOf(passages)
	answers, err := r.store.multi(ctx, []object{{
		"size": len(ids), "_source": false,
		"query": withoutStandIns(append(slices.Clone(r.filter), r.store.idsQuery(ids))...),
	}})
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		out[i] = slices.ContainsFunc(answers[0].hits, func(h searchHit) bool { return h.id == id })
	}
	return out, nil
}

// prefetch fetches what Prefetch does for at most mostHits passages, in one request, and returns those that are gone.
// Its only error is that of ctx.
func (r *request) prefetch(ctx context.Context, ordinals []rank.Ordinal) (gone []rank.Ordinal, err error) {
	r.mu.Lock()
	all, late, expecting := slices.Clone(r.asked), slices.Clone(r.late), maps.Clone(r.expecting)
	nearing := r.nearing
	r.mu.Unlock()
	var searches []object
	var fetches []fetch
	add := func(missing []rank.Ordinal, own []object, take func([]searchAnswer) error) {
		fetches = append(fetches, fetch{missing, len(own), take})
		searches = append(searches, own...)
	}
	for _, key := range all {
		if r.wantsNames(key) {
			add(ordinals, r.namedScoreSearches(key, ordinals), func(s []searchAnswer) error {
				r.takeNamed(key, ordinals, s)
				return nil
			})
			continue
		}
		if missing := r.withoutScore(key, ordinals); len(missing) > 0 {
			add(missing, r.scoreSearches(key, missing), func(s []searchAnswer) error {
				r.takeScores(key, missing, s)
				return nil
			})
		}
	}
	for key, e := range expecting {
		late = slices.DeleteFunc(late, func(x schema.Expert) bool { return x == e.expert })
		if missing := r.unscored(key, ordinals); len(missing) > 0 {
			add(missing, []object{r.lateScoring(key, missing)}, func(s []searchAnswer) error {
				return r.takeLate(key, missing, s[0])
			})
		}
	}
	for _, x := range late {
		if missing := r.withoutCodes(x, ordinals); len(missing) > 0 {
			add(missing, []object{r.codesSearch(x, missing)}, func(s []searchAnswer) error {
				return r.takeCodes(x, missing, s[0])
			})
		}
	}
	if nearing {
		if missing := r.withoutText(ordinals); len(missing) > 0 {
			add(missing, []object{r.textsSearch(missing)}, func(s []searchAnswer) error {
				return r.takeTexts(missing, s[0])
			})
		}
	}
	answers, err := r.store.multiPartly(ctx, searches)
	if err != nil {
		return nil, ctx.Err()
	}
	told := map[rank.Ordinal]bool{}
	for _, f := range fetches {
		its := answers[:f.searches]
		answers = answers[f.searches:]
		_ = f.take(its) // the index says so when it is asked
		if its[0].lost != nil {
			continue
		}
		there := map[string]bool{}
		for _, h := range its[0].hits {
			there[h.id] = true
		}
		for n, id := range r.table.idsOf(f.wanted) {
			if o := f.wanted[n]; !there[id] && !told[o] && !isStandIn(id) { // what that stands in for may be there
				told[o] = true
				gone = append(gone, o)
			}
		}
	}
	return gone, nil
}

// fetch is the part of a request for the scores or codes of some passages: searches of them, each of which finds all
// that are there.
type fetch struct {
	wanted   []rank.Ordinal
	searches int
	take     func([]searchAnswer) error
}

// scoreSearches returns the searches that score passages for a key of scores. The score of a passage is the sum of its
// scores in their answers.
func (r *request) scoreSearches(key scoreKey, ordinals []rank.Ordinal) (searches []object) {
	ids := r.table.idsOf(ordinals)
	if key.field == schema.FieldWords || key.field == schema.FieldPairs {
		parts := words{r, key.field}.query(key.question).splitQueries()
		if len(parts) == 0 {
			parts = [][]any{{}}
		}
		for _, part := range parts {
			searches = append(searches, r.store.scoresSearch(part, ids))
		}
		return searches
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	among := r.store.idsQuery(ids)
	// A passage without a vector is a hit as well, so that it is not taken for one that is gone.
	query := betterOf(r.exactQuery(key.field, r.queries[key], among), object{
		"constant_score": object{"filter": among, "boost": noVectorScore},
	})
	return []object{withoutStored(object{"size": len(ordinals), "query": query, "track_total_hits": false})}
}

// takeScores keeps the scores in the answers to scoreSearches. A passage that is gone, or whose shard is missing, gets
// NaN.
func (r *request) takeScores(key scoreKey, ordinals []rank.Ordinal, answers []searchAnswer) {
	scores := make([]float32, len(ordinals))
	byID := map[string]float64{}
	for _, s := range answers {
		for _, h := range s.hits {
			byID[h.id] += float64(h.score)
		}
	}
	dense := key.field != schema.FieldWords && key.field != schema.FieldPairs
	for i, id := range r.table.idsOf(ordinals) {
		score, ok := byID[id]
		switch {
		case !ok && (dense || firstLostError(answers) != nil):
			scores[i] = notANumber
		case dense:
			scores[i] = innerProduct(float32(score))
		default:
			scores[i] = float32(score)
		}
	}
	r.keepScores(key, ordinals, scores)
}

// fetchScores writes the scores of passages under a key to out, which must have an element for each, and asks the
// cluster for those that are not known. NaN stands for a passage that is gone or whose shard does not answer; of
// words, one that is gone has 0. It fails if the cluster does not answer at all.
func (r *request) fetchScores(ctx context.Context, key scoreKey, ordinals []rank.Ordinal, out []float32) error {
	for some := range slices.Chunk(r.withoutScore(key, ordinals), mostHits) {
		answers, err := r.store.multiPartly(ctx, r.scoreSearches(key, some))
		if err != nil {
			return err
		}
		r.takeScores(key, some, answers)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range ordinals {
		out[i] = r.scores[key][o]
	}
	return nil
}

// readStored reads fields of documents by their ids, with one attempt: a question has no time for more. The result
// has an entry for each id, in their order; Found is false if there is no document. It sees what was acknowledged
// last. It fails if the cluster does not answer.
func (s *Store) readStored(ctx context.Context, ids []string, fields ...string) ([]schema.StoredDocument, error) {
	path, body, err := s.getRequest(ids, fields...)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(ctx, "POST", path, body)
	if err != nil {
		return nil, err
	}
	plain := make([]string, len(ids))
	for i, id := range ids {
		plain[i] = plainID(id)
	}
	return parseGot(answer, plain)
}

// readPassages returns the passages with these ids of a table, in the same order; a stand-in's id gives the passage
// as the stand-in has it. Each passage has its own ID (passageIDOf). One that is not in the index, such as a deleted
// one, has nothing else. It fails if the cluster does not answer or a document is no passage.
func (s *Store) readPassages(ctx context.Context, ids []string) ([]corpus.Passage, error) {
	if len(ids) == 0 {
		return []corpus.Passage{}, nil
	}
	stored, err := s.readStored(ctx, ids, schema.PassageFields()...)
	if err != nil {
		return nil, err
	}
	out := make([]corpus.Passage, len(ids))
	for i, has := range stored {
		if !has.Found {
			out[i].ID = passageIDOf(ids[i])
			continue
		}
		out[i], err = has.Source.Passage(plainID(ids[i]))
		if err != nil {
			return nil, err
		}
		out[i].ID = passageIDOf(ids[i])
	}
	return out, nil
}
