package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// entry is a term of a field of words.
type entry struct{ field, text string }

// termCounts are how many documents have terms, deleted ones included until they are merged away,
// as in the scores of the cluster.
type termCounts struct {
	of  map[entry]uint64
	all map[string]uint64 // documents with terms at all, by field
}

func newTermCounts() *termCounts {
	return &termCounts{of: map[entry]uint64{}, all: map[string]uint64{}}
}

// keptCounts are the termCounts of one state of an index, as questions asked for them.
type keptCounts struct {
	state countedState
	mu    sync.Mutex
	*termCounts
}

// countedState changes when the passages of an index do, as the last look at it said, or as writing
// through this process did since.
type countedState struct {
	index indexState
	ours  int64
}

// mostKeptCounts bounds the counts that are kept, some 100 MB of them.
const mostKeptCounts = 1 << 20

// counted returns what is kept of the present state.
func (c *Corpus) counted() *keptCounts {
	for {
		kept := c.kept.Load()
		state := countedState{c.Known().state(), c.Store().client.changes.Load()}
		if kept != nil && kept.state == state {
			return kept
		}
		c.kept.CompareAndSwap(kept, &keptCounts{state: state, termCounts: newTermCounts()})
	}
}

// known returns the counts of entries where all of them are kept, else nil.
func (k *keptCounts) known(entries []entry) *termCounts {
	if out, missing := k.split(entries); len(missing) == 0 {
		return out
	}
	return nil
}

// knownCounts returns the counts of entries where all of them are kept, else nil.
func (c *Corpus) knownCounts(entries []entry) *termCounts {
	if c.members == nil {
		return c.counted().known(entries)
	}
	out := newTermCounts()
	for _, m := range c.members {
		own := m.counted().known(entries)
		if own == nil {
			return nil
		}
		out.add(own)
	}
	return out
}

// split returns the counts of the entries that are kept, and the other entries, each once.
func (k *keptCounts) split(entries []entry) (out *termCounts, missing []entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out = newTermCounts()
	seen := map[entry]bool{}
	for _, e := range entries {
		if n, ok := k.of[e]; ok {
			out.of[e] = n
			out.all[e.field] = k.all[e.field]
		} else if !seen[e] {
			missing = append(missing, e)
			seen[e] = true
		}
	}
	return out, missing
}

// keep adds counts.
func (k *keptCounts) keep(counts *termCounts) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.of)+len(counts.of) > mostKeptCounts {
		clear(k.of)
	}
	maps.Copy(k.of, counts.of)
	maps.Copy(k.all, counts.all)
}

// termCounts returns how many documents have each of some entries: as they were asked for since the
// index changed, else by one request for those that were not. That looks terms up in each shard and
// counts nothing, so it takes as long in a large index as in a small one.
func (c *Corpus) termCounts(ctx context.Context, entries []entry) (*termCounts, error) {
	if len(entries) == 0 {
		return newTermCounts(), nil
	}
	if c.members != nil {
		out := newTermCounts()
		err := ofEach(c.members, func(m *Corpus) (*termCounts, error) { return m.termCounts(ctx, entries) }, out.add)
		return out, err
	}
	kept := c.counted()
	out, missing := kept.split(entries)
	if len(missing) == 0 {
		return out, nil
	}
	routes, err := c.routes(ctx)
	if err != nil {
		return nil, err
	}
	counts, whole, err := c.Store().termStatistics(ctx, routes, missing)
	if err != nil {
		return nil, err
	}
	if whole {
		kept.keep(counts)
	}
	maps.Copy(out.of, counts.of)
	maps.Copy(out.all, counts.all)
	return out, nil
}

// termStatistics asks each shard for the statistics of entries, by a document that is not there and
// is routed as one that is. whole: each shard that was asked has answered.
func (s *Store) termStatistics(
	ctx context.Context,
	routes []string,
	entries []entry,
) (counts *termCounts, whole bool, err error) {
	counts = newTermCounts()
	byField := map[string][]string{}
	has := properties(s.current())
	for _, e := range entries {
		counts.of[e] = 0
		counts.all[e.field] = 0
		if has[e.field] == nil { // such as phrases, which not every index has
			continue
		}
		byField[e.field] = append(byField[e.field], e.text)
	}
	if len(routes) == 0 || len(byField) == 0 {
		return counts, len(byField) == 0, nil
	}
	document := object{}
	var fields []string
	for field, texts := range byField {
		document[field] = strings.Join(texts, " ")
		fields = append(fields, field)
	}
	var docs []object
	for _, route := range routes {
		docs = append(docs, object{"_index": s.index, "routing": route, "doc": document, "fields": fields,
			"term_statistics": true, "positions": false, "offsets": false, "payloads": false})
	}
	body, err := json.Marshal(object{"docs": docs})
	if err != nil {
		return nil, false, err
	}
	const only = "docs._index,docs.term_vectors.*.terms.*.doc_freq,docs.term_vectors.*.field_statistics.doc_count,docs.error"
	answer, err := s.client.Do(ctx, "POST", "/_mtermvectors?filter_path="+only, body)
	if err != nil {
		return nil, false, err
	}
	var got struct {
		Docs []struct {
			Error   json.RawMessage `json:"error"`
			Vectors map[string]struct {
				Statistics struct {
					Documents int64 `json:"doc_count"`
				} `json:"field_statistics"`
				Terms map[string]struct {
					Documents uint64 `json:"doc_freq"`
				} `json:"terms"`
			} `json:"term_vectors"`
		} `json:"docs"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, false, fmt.Errorf("%w: %w", errAnswer, err)
	}
	if len(got.Docs) != len(routes) {
		return nil, false, fmt.Errorf("%w: %d statistics of %d shards", errAnswer, len(got.Docs), len(routes))
	}
	whole = true
	var refused error
	answered := 0
	for _, d := range got.Docs {
		if len(d.Error) > 0 {
			whole = false
			refused = fmt.Errorf("%w: statistics of terms: %s", errAnswer, reason(d.Error))
			continue
		}
		answered++
		for field, v := range d.Vectors {
			if _, asked := counts.all[field]; !asked {
				continue
			}
			counts.all[field] += uint64(max(0, v.Statistics.Documents))
			for text, n := range v.Terms {
				if e := (entry{field, text}); n.Documents > 0 {
					counts.of[e] += n.Documents
				}
			}
		}
	}
	if answered == 0 {
		return nil, false, refused
	}
	return counts, whole, nil
}

// shardRoutes are the ids of passages by the numbers of the shards that they are in. A shard without a
// passage has none, and nothing to count.
type shardRoutes struct {
	mu   sync.Mutex
	ids  map[int]string
	look countedState // when those that are missing were looked for
}

// routes returns an id in each shard that has passages. Which shard an id belongs to never changes.
func (c *Corpus) routes(ctx context.Context) ([]string, error) {
	store := c.Store()
	r := &c.shards
	state := c.counted().state
	r.mu.Lock()
	var missing []int
	for shard := range store.shards {
		if _, ok := r.ids[shard]; !ok && (r.ids == nil || r.look != state) {
			missing = append(missing, shard)
		}
	}
	r.mu.Unlock()
	found, err := store.anyIn(ctx, missing)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids = map[int]string{}
	}
	r.look = state
	maps.Copy(r.ids, found)
	out := make([]string, 0, len(r.ids))
	for _, id := range r.ids {
		out = append(out, id)
	}
	return out, nil
}

// anyIn returns the id of any passage in each of some shards that have one and a copy that answers.
func (s *Store) anyIn(ctx context.Context, shards []int) (map[int]string, error) {
	if len(shards) == 0 {
		return nil, nil
	}
	var body []byte
	for _, shard := range shards {
		header, err := json.Marshal(object{"index": s.index, "preference": "_shards:" + strconv.Itoa(shard)})
		if err != nil {
			return nil, err
		}
		body = append(append(body, header...), `
{"size":1,"query":{"match_all":{}},"track_total_hits":false,"_source":false}
`...)
	}
	answer, err := s.client.Do(ctx, "POST", "/_msearch", body)
	if err != nil {
		return nil, err
	}
	answers, err := parseSearches(answer, len(shards))
	out := map[int]string{}
	if errors.Is(err, errAnswer) {
		return s.eachIn(ctx, shards)
	}
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		if len(a.hits) > 0 {
			out[shards[i]] = a.hits[0].id
		}
	}
	return out, nil
}

// eachIn works as anyIn does, shard by shard, so that one without a copy keeps no other from answering.
func (s *Store) eachIn(ctx context.Context, shards []int) (map[int]string, error) {
	out := map[int]string{}
	if len(shards) == 1 {
		return out, nil
	}
	for _, shard := range shards {
		found, err := s.anyIn(ctx, []int{shard})
		if err != nil {
			return nil, err
		}
		maps.Copy(out, found)
	}
	return out, nil
}
