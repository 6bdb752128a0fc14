package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// entry is a term of a field of words.
type entry struct{ field, text string }

// termCounts has the numbers of documents that have terms, including deleted ones until they are merged away, as in the
// scores of the cluster.
type termCounts struct {
	byEntry map[entry]uint64
	all     map[string]uint64 // documents with terms at all, by field
	inexact string            // why they are not those of the index as it is, for the user; "": they are
}

// Reasons why counts are not exact.
const (
	countedPartly = "words were counted in a part of the index alone, since a node did not answer in time: " +
		"scores may differ a little"
	countedBefore = "words were counted before the index was last changed, since no node answered in time: " +
		"scores may differ a little"
)

var errInexact = errors.New("the counts of words are not exact")

// partialError returns a *storage.PartialError with the reason if the counts are inexact, else nil.
func (t *termCounts) partialError() error {
	if t.inexact == "" {
		return nil
	}
	return &storage.PartialError{Reason: t.inexact, Err: errInexact}
}

// addEntries copies the counts of entries into t; they replace those of the same entries. Of a field in both the
// larger number of documents stays, since the smaller one is of a part of the index. The counts are inexact if one of
// both is.
func (t *termCounts) addEntries(counts *termCounts) {
	maps.Copy(t.byEntry, counts.byEntry)
	for field, n := range counts.all {
		t.all[field] = max(t.all[field], n)
	}
	t.inexact = cmp.Or(t.inexact, counts.inexact)
}

// newTermCounts returns counts without an entry.
func newTermCounts() *termCounts {
	return &termCounts{byEntry: map[entry]uint64{}, all: map[string]uint64{}}
}

// keptCounts are the termCounts of one state of an index, of the terms that questions asked for.
type keptCounts struct {
	state countedState
	mu    sync.Mutex
	*termCounts
	before *keptCounts // of the state before; nil: none were asked for
}

// countedState changes when the passages of an index do, as the last look at it found, or when this process has written
// since.
type countedState struct {
	index indexState
	ours  int64
}

// mostKeptCounts bounds the number of counts that are kept of one state; they take some 100 MB.
const mostKeptCounts = 1 << 20

// presentCounts returns the counts that are kept of the present state of the index. When the state has changed, it
// begins with empty ones, and keeps those of the last state as its before.
func (c *Corpus) presentCounts() *keptCounts {
	for {
		kept := c.kept.Load()
		state := countedState{c.Known().state(), c.Store().client.Changes()}
		if kept != nil && kept.state == state {
			return kept
		}
		kept.forgetBefore()
		c.kept.CompareAndSwap(kept, &keptCounts{state: state, termCounts: newTermCounts(), before: kept})
	}
}

// forgetBefore drops the counts of the state before this one. k may be nil.
func (k *keptCounts) forgetBefore() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.before = nil
}

// countsBefore returns the counts of entries in the state before this one, marked as inexact; 0 for an entry that was
// not counted then. It returns nil if none of their fields was.
func (k *keptCounts) countsBefore(entries []entry) *termCounts {
	k.mu.Lock()
	before := k.before
	k.mu.Unlock()
	if before == nil {
		return nil
	}
	counts, missing := before.split(entries)
	for _, e := range missing {
		counts.byEntry[e] = 0
	}
	if len(counts.all) == 0 {
		return nil
	}
	counts.inexact = countedBefore
	return counts
}

// known returns the counts of entries, and nil if one of them is not kept.
func (k *keptCounts) known(entries []entry) *termCounts {
	if out, missing := k.split(entries); len(missing) == 0 {
		return out
	}
	return nil
}

// knownCounts returns the counts of entries without a request, of several joined indexes their sums; nil if one is
// not kept.
func (c *Corpus) knownCounts(entries []entry) *termCounts {
	if c.members == nil {
		return c.presentCounts().known(entries)
	}
	out := newTermCounts()
	for _, m := range c.members {
		own := m.presentCounts().known(entries)
		if own == nil {
			return nil
		}
		out.add(own)
	}
	return out
}

// split returns the counts of the entries that are kept, and the entries that are not, each once.
func (k *keptCounts) split(entries []entry) (out *termCounts, missing []entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out = newTermCounts()
	seen := map[entry]bool{}
	for _, e := range entries {
		if n, ok := k.byEntry[e]; ok {
			out.byEntry[e] = n
			out.all[e.field] = k.all[e.field]
		} else if !seen[e] {
			missing = append(missing, e)
			seen[e] = true
		}
	}
	return out, missing
}

// keep adds counts to those that are kept. It drops the earlier ones if they would be more than mostKeptCounts.
func (k *keptCounts) keep(counts *termCounts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byEntry)+len(counts.byEntry) > mostKeptCounts {
		clear(k.byEntry)
	}
	maps.Copy(k.byEntry, counts.byEntry)
	maps.Copy(k.all, counts.all)
	k.inexact = counts.inexact
}

// termCounts returns how many documents have each entry, of several joined indexes their sums. Entries that were not
// counted since the index changed are asked for, by a request to each shard that looks terms up and takes as long in
// a large index as in a small one. If the cluster does not answer in time, counts are of the shards that did, or of
// the state before: inexact says so. It fails if neither is known, or ctx ends.
func (c *Corpus) termCounts(ctx context.Context, entries []entry) (*termCounts, error) {
	if len(entries) == 0 {
		return newTermCounts(), nil
	}
	if c.members != nil {
		out := newTermCounts()
		err := askMembers(ctx, c.members, func(ctx context.Context, m *Corpus) (*termCounts, error) {
			return m.termCounts(ctx, entries)
		}, out.add)
		return out, err
	}
	kept := c.presentCounts()
	out, missing := kept.split(entries)
	if len(missing) == 0 {
		return out, nil
	}
	counts, err := c.askCounts(ctx, missing)
	if err != nil {
		counts = kept.countsBefore(missing)
		if counts == nil || ctx.Err() != nil {
			return nil, err
		}
	}
	if counts.inexact == "" {
		kept.keep(counts)
	}
	out.addEntries(counts)
	return out, nil
}

// askCounts asks each shard how many documents have each entry, by the statistics of terms. After
// cluster.Client.CountsWithin, or half the time that the request has left, the counts are those of the shards that
// answered, and inexact. It fails if none answers.
func (c *Corpus) askCounts(ctx context.Context, entries []entry) (*termCounts, error) {
	store := c.Store()
	counts := newTermCounts()
	byField := map[string][]string{}
	has := schema.Properties(store.current())
	for _, e := range entries {
		counts.byEntry[e] = 0
		counts.all[e.field] = 0
		if has[e.field] == nil { // such as phrases, which not every index has
			continue
		}
		byField[e.field] = append(byField[e.field], e.text)
	}
	if len(byField) == 0 {
		return counts, nil
	}
	body, err := termStatisticsBody(byField)
	if err != nil {
		return nil, err
	}
	asking, cancel := context.WithCancel(turn.WithoutTurn(ctx))
	defer cancel()
	type outcome struct {
		statistics shardStatistics
		err        error
	}
	outcomes := make(chan outcome, store.shards)
	for shard := range store.shards {
		go func() {
			var o outcome
			o.statistics, o.err = c.shardCounts(asking, shard, body)
			outcomes <- o
		}()
	}
	enough := store.client.CountsWithin()
	if end, ok := ctx.Deadline(); ok {
		enough = min(enough, time.Until(end)/2)
	}
	answered := 0
	err = turn.Elsewhere(ctx, func() (failed error) {
		late := time.After(enough)
		isLate := false
		for n := 0; n < store.shards && !(isLate && answered > 0); n++ {
			var o outcome
			select {
			case o = <-outcomes:
			case <-late:
				isLate = true
				late = nil
				n--
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
			if o.err != nil {
				failed = o.err
				continue
			}
			answered++
			counts.takeShard(o.statistics)
		}
		if answered > 0 {
			return nil
		}
		return failed
	})
	if answered < store.shards {
		counts.inexact = countedPartly
	}
	return counts, err
}

// shardCounts returns the statistics of terms in one shard, nil if the shard has no passage. body is that of
// termStatisticsBody. It fails if the cluster does, or a shard does not answer.
func (c *Corpus) shardCounts(ctx context.Context, shard int, body []byte) (shardStatistics, error) {
	route, err := c.shardRoute(ctx, shard)
	if err != nil || route == "" {
		return nil, err
	}
	return c.Store().shardStatistics(ctx, route, body)
}

// termStatisticsBody returns the body of a request for the statistics of terms by field: it describes a document with
// these terms, which need not be there. It fails only if the terms cannot be encoded.
func termStatisticsBody(byField map[string][]string) ([]byte, error) {
	document := object{}
	var fields []string
	for field, texts := range byField {
		document[field] = strings.Join(texts, " ")
		fields = append(fields, field)
	}
	return json.Marshal(object{"doc": document, "fields": fields,
		"term_statistics": true, "positions": false, "offsets": false, "payloads": false})
}

// shardStatistics are the statistics of terms in one shard, by field.
type shardStatistics map[string]struct {
	Statistics struct {
		Documents int64 `json:"doc_count"`
	} `json:"field_statistics"`
	Terms map[string]struct {
		Documents uint64 `json:"doc_freq"`
	} `json:"terms"`
}

// takeShard adds the statistics of one shard to the counts. Fields that t has no count of are left out.
func (t *termCounts) takeShard(statistics shardStatistics) {
	for field, v := range statistics {
		if _, asked := t.all[field]; !asked {
			continue
		}
		t.all[field] += uint64(max(0, v.Statistics.Documents))
		for text, n := range v.Terms {
			if e := (entry{field, text}); n.Documents > 0 {
				t.byEntry[e] += n.Documents
			}
		}
	}
}

// shardStatistics returns the statistics of terms in the shard of a route, the id of a passage there; body is that of
// termStatisticsBody. One request for several shards (_mtermvectors) cannot prefer copies, so a hanging node would
// delay it. It fails if the cluster does not answer.
func (s *Store) shardStatistics(ctx context.Context, route string, body []byte) (shardStatistics, error) {
	const only = "term_vectors.*.terms.*.doc_freq,term_vectors.*.field_statistics.doc_count"
	path := s.path("/_termvectors?filter_path=" + only + "&routing=" + url.QueryEscape(route))
	answer, err := s.client.Do(ctx, "POST", path, body)
	if err != nil {
		return nil, err
	}
	var got struct {
		Vectors shardStatistics `json:"term_vectors"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
	}
	return got.Vectors, nil
}

// shardRoutes has for each shard the id of a passage in it. The shard of an id never changes.
type shardRoutes struct {
	mu    sync.Mutex
	ids   map[int]string
	empty map[int]countedState // when a shard without a passage was looked at
}

// shardRoute returns the id of a passage in the shard with a number, from 0, by which a request gets there; "" if the
// shard has no passage. It asks the cluster once for each shard, and again for an empty one when passages have
// changed. It fails if the cluster does not answer.
func (c *Corpus) shardRoute(ctx context.Context, shard int) (string, error) {
	r := &c.shards
	state := c.presentCounts().state
	r.mu.Lock()
	id, known := r.ids[shard]
	looked, empty := r.empty[shard]
	r.mu.Unlock()
	if known || empty && looked == state {
		return id, nil
	}
	id, err := c.Store().anyPassageIn(ctx, shard)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids, r.empty = map[int]string{}, map[int]countedState{}
	}
	if id == "" {
		r.empty[shard] = state
	} else {
		r.ids[shard] = id
	}
	return id, nil
}

// anyPassageIn returns the id of some passage in the shard with a number; "" if it has none. It fails if the cluster
// does not answer.
func (s *Store) anyPassageIn(ctx context.Context, shard int) (string, error) {
	name, err := json.Marshal(s.index)
	if err != nil {
		return "", err
	}
	any, err := json.Marshal(withoutStandIns()) // which are in the shards of their passages
	if err != nil {
		return "", err
	}
	body := fmt.Appendf(nil, `{"index":%s,%s
{"size":1,"query":%s,"track_total_hits":false,"_source":false}
`, name, cluster.EndOfShard(shard), any)
	answer, err := s.client.Do(ctx, "POST", "/_msearch", body)
	if err != nil {
		return "", err
	}
	answers, err := parseSearches(answer, 1)
	if err != nil || len(answers[0].hits) == 0 {
		return "", err
	}
	return answers[0].hits[0].id, nil
}
