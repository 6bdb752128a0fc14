package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/schema"
)

// Corpus shows a store to the search engine. Every question asks the cluster: for the hits
// of each source, for the scores of the candidates that they lack (Prefetch), and for the
// texts of the results. Searches of different moments see what was written between them,
// since the cluster has no snapshot that costs nothing.
type Corpus struct {
	store   atomic.Pointer[Store]
	shared  atomic.Pointer[shared]
	counts  atomic.Pointer[Statistics]
	kept    atomic.Pointer[keptCounts] // of terms; nil: none were asked for
	members []*Corpus                  // of several that are searched as one (Join)
	shards  shardRoutes
	// unscripted is until when the cluster is not asked to run a script that it did not run; in nanoseconds.
	unscripted atomic.Int64
	health     atomic.Pointer[Health] // as the last Look found it; nil: there was none
	// compared are the experts whose hits are compared with other vectors than the
	// question's, those of an ensemble's members: their searches return vectors, too.
	compared sync.Map
	// fit are the fields that had values of a kind, by ValueTerm.
	fit sync.Map

	mu sync.Mutex // held while the sample is read

	textsMu sync.Mutex // guards texts
	texts   keptTexts

	lexicon atomic.Pointer[lexicon] // nil: not read
	reading sync.Mutex              // held while the lexicon is read
	renew   time.Duration           // renewEvery, but in tests
	gather  time.Duration           // gatherFor, but in tests
}

// NewCorpus returns the corpus of a finished index, after it counted the passages. It has no sample and no words yet
// (ReadSample, ReadWords). It fails if they cannot be counted.
func NewCorpus(ctx context.Context, s *Store) (*Corpus, error) {
	c := &Corpus{renew: renewEvery, gather: gatherFor}
	c.store.Store(s)
	c.shared.Store(&shared{table: newTable(mostKnown)})
	_, err := c.Count(ctx)
	return c, err
}

// Store returns the index as it was opened, or as the last Look found it.
func (c *Corpus) Store() *Store { return c.store.Load() }

// Count counts the passages, keeps the numbers for Known and returns them. Numbers that a hanging node does not tell,
// such as those of deleted documents, stay as they were. It fails, and keeps what Known returned, if the passages
// cannot be counted; only the first count may be of the shards that answer.
func (c *Corpus) Count(ctx context.Context) (Statistics, error) {
	before := c.counts.Load()
	n, err := c.Store().countFound(ctx)
	if err != nil && (before != nil || n == Statistics{}) { // the shards that are left do, where nothing else is known
		return n, err
	}
	patience := sizePatience
	if c.Store().client.SomeAway() {
		patience = sizePatience / 4
	}
	if before != nil {
		n.Deleted, n.Bytes, n.inCopies, n.changes = before.Deleted, before.Bytes, before.inCopies, before.changes
	}
	if err := c.Store().readSizes(ctx, patience, &n); err != nil && ctx.Err() != nil {
		return n, ctx.Err()
	}
	c.counts.Store(&n)
	return n, nil
}

// sizePatience is how long a look waits for what every node has to say.
const sizePatience = 2 * time.Second

// Known returns the numbers that the last successful Count found, without asking the cluster. It panics if there was
// none.
func (c *Corpus) Known() Statistics { return *c.counts.Load() }

// Acquire returns a view for one question. The view reads the index as it is at each request, and remembers what it
// asked. Releasing it does nothing. It asks nothing of the cluster.
func (c *Corpus) Acquire() storage.View {
	k := c.shared.Load()
	if k.table.isFull() {
		c.shared.CompareAndSwap(k, k.withNewTable())
		k = c.shared.Load()
	}
	return &view{
		corpus:  c,
		request: &request{store: c.Store(), corpus: c, table: k.table, sample: k.sample, fetched: newFetched()},
	}
}

// shared holds what questions have in common: the ordinals of passages, and the sample.
type shared struct {
	table  *table
	sample *placedSample // nil: it was not read
}

// withNewTable returns a copy with an empty table, into which the passages of the sample are put.
func (k *shared) withNewTable() *shared {
	next := &shared{table: newTable(k.table.most)}
	if k.sample != nil {
		next.sample = k.sample.placeIn(next.table)
	}
	return next
}

// mostKnown is how many passages a table knows.
const mostKnown = 1 << 20

// nowhere is the ordinal of no passage.
const nowhere = math.MaxInt32

// view is the store as one request sees it.
type view struct {
	corpus *Corpus
	*request
}

// Generation returns 0: an index of a cluster has no numbered generations.
func (v *view) Generation() uint64 { return 0 }

// Passages returns the texts of the passages, which are fetched from the index by the view's request.
func (v *view) Passages() storage.Passages { return texts{v.request} }

// Release does nothing.
func (v *view) Release() {}

// Index returns the kind of an expert's index, the number of passages that was counted last, and up to how many
// passages a search may be exact; false if the index has no such expert. One of late interaction only scores: its kind
// is ann.Late, and it is never exact.
func (v *view) Index(expert string) (storage.IndexInfo, bool) {
	x, ok := v.store.Manifest().Expert(expert)
	if !ok {
		return storage.IndexInfo{}, false
	}
	n := int(v.corpus.counts.Load().Passages)
	info := storage.IndexInfo{Kind: "opensearch", Passages: n, Rows: n, Owner: x.Owner, MostExact: mostExact}
	if x.Late { // which searches nothing
		info.Kind = ann.Late
		info.MostExact = 0
	}
	return info, true
}

// mostExact is how many passages an exact search compares with at most: a script of the
// cluster looks at each of them.
const mostExact = 200_000

// Among returns the indexes for searching the passages that a filter lets through, and a function that returns their
// number: they are counted meanwhile, and it waits for that. It returns a *conditions.MisfitError if the filter's
// condition does not fit the fields.
func (v *view) Among(
	ctx context.Context,
	f storage.Filter,
) (storage.Indexes, func(context.Context) (int, error), error) {
	return v.amongIn(ctx, f, nil)
}

// amongIn is Among for a filter whose hidden passages name collections: names are those of the joined indexes; nil:
// the view is of one index.
func (v *view) amongIn(
	ctx context.Context, f storage.Filter, names []string,
) (storage.Indexes, func(context.Context) (int, error), error) {
	narrowed := *v.request // with what is fetched, which no filter changes
	tags := filterClauses(f)
	if len(f.Hidden) > 0 {
		tags = append(tags, v.store.hidingClause(f.Hidden, names))
	}
	if !f.Where.LetsAll() {
		meet, err := v.corpus.conditionQuery(ctx, &f.Where)
		if err != nil {
			return nil, nil, err
		}
		tags = append(tags, meet)
	}
	wordings := filterWordings(f, v.store.Manifest().Words.Params())
	if err := v.store.compareWordings(ctx, wordings, tags); err != nil {
		return nil, nil, err
	}
	narrowed.filter = append(tags, wordingClauses(wordings)...)
	counted := make(chan struct{})
	var n int
	var failed error
	beside := turn.WithoutTurn(ctx)
	go func() {
		defer close(counted)
		answers, err := v.store.multiPartly(
			beside, []object{{"size": 0, "track_total_hits": true, "query": withoutStandIns(narrowed.filter...)}},
		)
		failed = err
		if err == nil {
			n = int(answers[0].total)
		}
	}()
	return &narrowed, func(ctx context.Context) (int, error) {
		select {
		case <-counted:
			return n, failed
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}, nil
}

// filterClauses returns the clauses of a query for the tags and documents of a filter; those for its wordings and its
// condition (Where) are made elsewhere.
func filterClauses(f storage.Filter) (clauses []any) {
	all := slices.Compact(slices.Sorted(slices.Values(f.TagsAll)))
	if len(all) > corpus.MaxTags { // no passage has so many, and a query has at most 1,024 clauses
		return []any{object{"match_none": object{}}}
	}
	for _, tag := range all {
		clauses = append(clauses, object{"term": object{schema.FieldTags: tag}})
	}
	if len(f.TagsAny) > 0 {
		clauses = append(clauses, object{"terms": object{schema.FieldTags: f.TagsAny}})
	}
	if len(f.Documents) > 0 {
		var any []any
		for _, id := range f.Documents {
			any = append(any, object{"regexp": object{schema.FieldID: object{"value": passageIDsPattern(id), "flags": "NONE"}}})
		}
		clauses = append(clauses, object{"bool": object{"should": any}})
	}
	return clauses
}

// hidingClause returns the clause of a query that lets all passages through but the hidden ones and those of hidden
// documents. names are the collections of the joined indexes; nil: the store is one index. A reference to a collection
// that is not among names hides nothing.
func (s *Store) hidingClause(hidden []storage.Reference, names []string) object {
	var clauses []any
	for _, h := range hidden {
		own := object{"bool": object{"should": []any{
			object{"term": object{schema.FieldID: h.ID}},
			object{"regexp": object{schema.FieldID: object{"value": passageIDsPattern(h.ID), "flags": "NONE"}}},
		}}}
		if names != nil {
			at := slices.Index(names, h.Collection)
			if at < 0 {
				continue
			}
			own = object{"bool": object{"filter": []any{object{"term": object{"_index": s.members[at].concrete}}, own}}}
		}
		clauses = append(clauses, own)
	}
	return object{"bool": object{"must_not": clauses}}
}

// passageIDsPattern returns a regular expression, in the cluster's syntax, that matches the ids of a document's
// passages: the document's id, # and a number from 1.
func passageIDsPattern(document string) string {
	return literally(document) + "\\#[1-9][0-9]*"
}

// texts reads the passages of the index for one request (storage.Passages).
type texts struct{ *request }

// Len returns the number of passages that was counted last.
func (p texts) Len() int { return int(p.corpus.counts.Load().Passages) }

// Ordinals returns a number above every ordinal that will ever be given to a passage.
func (p texts) Ordinals() int { return math.MaxInt32 }

// Read returns passages by their ordinals, in their order, each of the version of its document that counts. A passage
// that is deleted has its id alone, and so has one of which this question was given the other copy already: while a
// document is replaced, copies of its old passages (stand-ins) are in the index too. Passages that this question has
// not read yet take one request. It fails if the cluster does not answer.
func (p texts) Read(ctx context.Context, ordinals []rank.Ordinal) ([]corpus.Passage, error) {
	out := make([]corpus.Passage, len(ordinals))
	var missing []rank.Ordinal
	var places []int
	p.mu.Lock()
	for i, o := range ordinals {
		passage, ok := p.passages[o]
		if !ok {
			missing = append(missing, o)
			places = append(places, i)
		}
		out[i] = passage
	}
	p.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	ids := p.table.idsOf(missing)
	read, err := p.store.readWhole(ctx, ids)
	if err != nil {
		return nil, err
	}
	others := make([]rank.Ordinal, len(ids)) // of their counterparts
	for n, id := range ids {
		others[n] = p.table.knownOrdinal(p.store.counterpart(id))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, i := range places {
		if p.given[others[n]] && p.isHit(missing[n]) {
			read[n] = corpus.Passage{ID: read[n].ID} // it is in the answer already
		}
		if !storage.IsDeleted(read[n]) {
			p.given[missing[n]] = true
		}
		out[i] = read[n]
		if len(p.passages) < mostRead {
			p.passages[missing[n]] = read[n]
		}
	}
	return out, nil
}

// isHit reports whether a passage has a score of a search of this request. The caller holds mu.
func (r *request) isHit(o rank.Ordinal) bool {
	for _, scores := range r.scores {
		if _, ok := scores[o]; ok {
			return true
		}
	}
	return false
}

// mostRead is how many passages a question keeps that it has read.
const mostRead = 100

// Size returns the bytes of a passage that was found, as they were then; 0 if they are not known. It panics for an
// ordinal that was not given. The error is always nil.
func (p texts) Size(o rank.Ordinal) (int, error) {
	p.table.mu.RLock()
	defer p.table.mu.RUnlock()
	return p.table.bytes[o], nil
}

// Fingerprints returns the fingerprints of passages that were found: equal ones are of copies, passages with the same
// title and text; 0 if it is not known. The error is always nil.
func (p texts) Fingerprints(_ context.Context, ordinals []rank.Ordinal) ([]uint64, error) {
	p.table.mu.RLock()
	defer p.table.mu.RUnlock()
	out := make([]uint64, len(ordinals))
	for i, o := range ordinals {
		out[i] = p.table.prints[o]
	}
	return out, nil
}

// SortByID sorts ordinals by the ids of their passages, in place. The error is always nil.
func (p texts) SortByID(ordinals []rank.Ordinal) error {
	p.table.mu.RLock()
	defer p.table.mu.RUnlock()
	sortBy(ordinals, p.table.ids)
	return nil
}

// After returns the passages whose ids follow id, limit at most, in the order of ids; from the first one on if id is
// "". It sees what searches see, in one request. It fails if a shard does not answer.
func (p texts) After(ctx context.Context, id string, limit int) ([]rank.Ordinal, error) {
	return p.after(ctx, object{"match_all": object{}}, id, limit)
}

// DocumentsAfter returns the first passages of documents whose ids follow id, limit at most, in the order of ids;
// from the first one on if id is "". It sees what searches see, in one request. It fails if a shard does not answer.
func (p texts) DocumentsAfter(ctx context.Context, id string, limit int) ([]rank.Ordinal, error) {
	return p.after(ctx, object{"term": object{schema.FieldExperts: schema.MarkFirst}}, id, limit)
}

// after returns the passages that a query finds and whose ids follow id, limit at most, in the order of ids; from the
// first one on if id is "". It fails if a shard does not answer.
func (p texts) after(ctx context.Context, query object, id string, limit int) ([]rank.Ordinal, error) {
	find := object{
		"size":            limit,
		"query":           withoutStandIns(query),
		"sort":            []any{object{schema.FieldID: "asc"}},
		"_source":         false,
		"docvalue_fields": []string{schema.FieldBytes},
	}
	if id != "" {
		find["search_after"] = []string{id}
	}
	answers, err := p.store.multi(ctx, []object{find})
	if err != nil {
		return nil, err
	}
	var out []rank.Ordinal
	for _, hit := range answers[0].hits {
		out = append(out, p.table.ordinal(hit.id, hit.bytes, hit.print))
	}
	return out, nil
}

// IDs returns the ids of passages as users write them: without the number of a member, for a stand-in that of its
// passage. The error is always nil.
func (p texts) IDs(ordinals []rank.Ordinal) ([]string, error) {
	ids := p.table.idsOf(ordinals)
	for i, id := range ids {
		ids[i] = passageIDOf(id)
	}
	return ids, nil
}

// Lookup returns which passages are there by their ids, in one request, in several for several indexes. It sees what
// was acknowledged last. It fails if the cluster does not answer.
func (p texts) Lookup(ctx context.Context, ids []string) ([]storage.Found, error) {
	if len(ids) == 0 {
		return []storage.Found{}, nil
	}
	at, there, err := p.store.findIDs(ctx, ids, schema.FieldBytes)
	if err != nil {
		return nil, err
	}
	return p.found(at, there)
}

// found returns the ordinals of documents that were read with FieldBytes, one entry for each of ids; There is false
// of those that are not there. It gives new ordinals to passages that the table did not know. It fails if a
// document's number of bytes cannot be read.
func (p texts) found(ids []string, there []schema.StoredDocument) ([]storage.Found, error) {
	found := make([]storage.Found, len(ids))
	for i, has := range there {
		bytes := 0
		if raw, ok := has.Source[schema.FieldBytes]; ok {
			if err := json.Unmarshal(raw, &bytes); err != nil {
				return nil, fmt.Errorf("passage %q: field %s: %w", plainID(ids[i]), schema.FieldBytes, err)
			}
		}
		if has.Found {
			found[i] = storage.Found{Ordinal: p.table.ordinal(ids[i], bytes, 0), There: true}
		}
	}
	return found, nil
}

// Ordinal returns the ordinal of a passage by its id; false if it is not there. It sees what was acknowledged last.
// It fails if the cluster does not answer.
func (p texts) Ordinal(ctx context.Context, id string) (rank.Ordinal, bool, error) {
	at, there, err := p.store.findIDs(ctx, []string{id}, schema.FieldBytes)
	if err != nil || !there[0].Found {
		return 0, false, err
	}
	return p.table.ordinal(at[0], 0, 0), true, nil
}

// Sample returns the first n passages of the random sample; nil if the sample was not read.
func (p texts) Sample(n int) []rank.Ordinal {
	if p.sample == nil {
		return nil
	}
	return p.sample.ordinals[:min(n, len(p.sample.ordinals))]
}
