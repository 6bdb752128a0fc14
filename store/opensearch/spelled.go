package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"time"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// lexicon is what a server knows of the words of an index, for finding misspelt words of questions.
type lexicon struct {
	words *spelling.Lexicon
	known map[uint64]struct{} // hashes of their terms, and of other forms
	whole bool                // no word was left out
	state indexState          // of the index, when it was read
	read  time.Time
	took  time.Duration
}

// hashSeed is the seed of the hashes in a lexicon.
var hashSeed = maphash.MakeSeed()

// has reports whether an entry, a term or another form, is among those that were read. Entries are compared by hashes,
// so it may rarely be wrong.
func (x *lexicon) has(entry string) bool {
	_, ok := x.known[maphash.String(hashSeed, entry)]
	return ok
}

// indexState is a set of numbers that changes when the passages of an index do.
type indexState struct{ passages, deleted, changes int64 }

// state returns the numbers by which a change of the index's passages is noticed.
func (n Statistics) state() indexState {
	return indexState{n.Passages, n.Deleted, n.changes}
}

const (
	// The words of an index are asked for in parts, since a node gives at most 65,535 at a
	// time (search.max_buckets), and of each shard some more than are kept: a word may be
	// frequent in one of them alone.
	spelledParts = 8
	partWords    = spelling.MostWords / spelledParts
	shardWords   = 3 * partWords / 2

	// renewEvery is how often the words are read again at most, where passages change; it is
	// no more than one in renewShare of the time that reading takes.
	renewEvery = time.Minute
	renewShare = 20
)

// ReadWords reads the most frequent words of the index, at most spelling.MostWords, if they are not known or passages
// were changed since. It does nothing if they were read within the last renewEvery, or renewShare times what reading
// took. Call it from time to time after Look or Count; until the first call no misspelt words are found. If it fails,
// the words that were read last stay in use.
func (c *Corpus) ReadWords(ctx context.Context) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	store := c.Store()
	state := c.Known().state()
	had := c.lexicon.Load()
	if had != nil && (had.state == state || time.Since(had.read) < max(c.renew, renewShare*had.took)) {
		return nil
	}
	analysis := store.Manifest().Words.Params().Analysis
	began := time.Now()
	x := &lexicon{known: map[uint64]struct{}{}, whole: true, state: state}
	counts := map[string]uint32{}
	know := func(entry string) { x.known[maphash.String(hashSeed, entry)] = struct{}{} }
	for part := range spelledParts {
		all, whole, err := store.spelledPart(ctx, part)
		if err != nil {
			return fmt.Errorf("reading the words of index %s: %w", store.index, err)
		}
		x.whole = x.whole && whole
		for _, w := range all {
			if forms.IsForm(w.Key) {
				know(w.Key)
				continue
			}
			counts[w.Key] = uint32(w.Count)
			for _, term := range analysis.Terms(w.Key) {
				know(term)
			}
		}
	}
	x.words = spelling.NewLexicon(counts)
	x.read = time.Now()
	x.took = time.Since(began)
	c.lexicon.Store(x)
	return nil
}

// spelledWord is a word and how many passages have it.
type spelledWord struct {
	Key   string `json:"key"`
	Count int64  `json:"doc_count"`
}

// spelledPart returns the most frequent words of one of spelledParts parts, numbered from 0, with their counts. whole
// is false if some were left out. It fails if a part of the index has no copy that answers.
func (s *Store) spelledPart(ctx context.Context, part int) (all []spelledWord, whole bool, err error) {
	words := object{"terms": object{"field": schema.FieldSpelled, "size": partWords, "shard_size": shardWords,
		"include": object{"partition": part, "num_partitions": spelledParts}}}
	answers, err := s.multi(ctx, []object{{"size": 0, "track_total_hits": false, "aggs": object{"words": words}}})
	if err != nil {
		return nil, false, err
	}
	var found struct {
		Words *struct {
			Buckets []spelledWord `json:"buckets"`
			Others  int64         `json:"sum_other_doc_count"`
		} `json:"words"`
	}
	if err := json.Unmarshal(answers[0].aggregations, &found); err != nil || found.Words == nil {
		return nil, false, fmt.Errorf("%w: no words: %w", cluster.ErrAnswer, err)
	}
	return found.Words.Buckets, found.Words.Others == 0, nil
}
