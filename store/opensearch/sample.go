package opensearch

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// sample holds the passages that the confidence of an answer compares each question with, those with the lowest keys
// (corpus.SampleKey), with their vectors and codes: so no request is spent on that. It does not change.
type sample struct {
	passages []samplePassage // in the order of their keys
	vectors  map[string]map[string][]float32
	codes    map[string]map[string][]byte // like vectors by expert and id
}

// samplePassage is a passage of a sample, in the state that its vectors are of.
type samplePassage struct {
	id          string
	bytes       int
	seqNo, term int64
}

// sampled is how many passages a sample has at most: as many as the engine asks for.
const sampled = 128

// ReadSample draws the sample from the index as it is now, and reads the vectors of passages that are new in it or
// have changed. If it fails and there is an earlier sample, that stays and the error is nil, unless ctx ended. Call it
// before questions are answered, and from time to time.
func (c *Corpus) ReadSample(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var old *sample
	if placed := c.shared.Load().sample; placed != nil {
		old = placed.sample
	}
	next, err := c.drawSample(ctx, old)
	if err != nil {
		if old != nil {
			return ctx.Err()
		}
		return err
	}
	for {
		now := c.shared.Load()
		if c.shared.CompareAndSwap(now, &shared{now.table, next.placeIn(now.table)}) {
			return nil
		}
	}
}

// FillSample counts the passages and draws the sample again if it has fewer passages than it may have. Call it after
// passages were added to an index that has few; without it the next Look does the same. It fails if the passages cannot
// be counted, or ctx ends, or if there was no sample before and none can be drawn.
func (c *Corpus) FillSample(ctx context.Context) error {
	placed := c.shared.Load().sample
	if placed != nil && len(placed.passages) >= sampled {
		return nil
	}
	if _, err := c.Count(ctx); err != nil {
		return err
	}
	return c.ReadSample(ctx)
}

// drawSample returns the sample of the index as it is now. Vectors of passages that have not changed since old are
// taken from there; old may be nil. It fails if a shard has no copy and there is an old sample, and otherwise draws
// from the shards that answer.
func (c *Corpus) drawSample(ctx context.Context, old *sample) (*sample, error) {
	store := c.Store()
	out := &sample{vectors: map[string]map[string][]float32{}, codes: map[string]map[string][]byte{}}
	answer, err := store.lowestKeys(ctx, c.Known().Passages)
	if err == nil && answer.lost != nil && old != nil {
		err = answer.lost
	}
	if err != nil {
		return nil, err
	}
	for _, hit := range answer.hits {
		out.passages = append(out.passages, samplePassage{hit.id, hit.bytes, hit.seqNo, hit.term})
	}
	return out, out.readVectors(ctx, store, old)
}

// lowestKeys returns the answer of a search that finds the passages with the lowest sample keys, `sampled` at most,
// in an index of about n passages. Keys are evenly spread, so it looks below a bound that four times as many passages
// have, and below higher ones while these are too few. Shards without a copy are no error (searchAnswer.lost).
func (s *Store) lowestKeys(ctx context.Context, n int64) (searchAnswer, error) {
	const all = 1 << 32
	for bound := int64(all); ; bound *= 16 {
		if few := int64(4 * sampled); bound == all && n > few {
			bound = max(all/n*few, 1)
		}
		answers, err := s.multiPartly(ctx, []object{drawSearch(object{"range": object{schema.FieldKey: object{"lt": bound}}},
			object{schema.FieldKey: "asc"}, object{schema.FieldID: "asc"})})
		if err != nil {
			return searchAnswer{}, err
		}
		if len(answers[0].hits) >= sampled || bound >= all {
			return answers[0], nil
		}
	}
}

// RandomPassages returns the passages with the lowest sample keys, n at most and no more than a sample has. It fails if
// the cluster does not answer or has no copy of a shard.
func (s *Store) RandomPassages(ctx context.Context, n int) ([]corpus.Passage, error) {
	counts, err := s.countFound(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := s.lowestKeys(ctx, counts.Passages)
	if err := cmp.Or(err, answer.lost); err != nil {
		return nil, err
	}
	var ids []string
	for _, hit := range answer.hits[:min(n, len(answer.hits))] {
		ids = append(ids, hit.id)
	}
	read, err := s.readWhole(ctx, ids)
	return slices.DeleteFunc(read, storage.IsDeleted), err
}

// drawSearch returns the search for the first passages, `sampled` at most, that a query finds in an order. Hits have
// the passages' bytes and state (sequence number and term), and no documents.
func drawSearch(query object, order ...any) object {
	return object{"size": sampled, "query": query, "sort": order, "track_total_hits": false, "_source": false,
		"docvalue_fields": []string{schema.FieldBytes}, "seq_no_primary_term": true}
}

// readVectors sets the vectors and codes of the sample's passages: those of old if the passage is in the same state,
// else as they are read from the index, with their new state. Passages that are gone by now are taken out of the
// sample. old may be nil. It fails if the cluster does, with the sample perhaps half set.
func (s *sample) readVectors(ctx context.Context, store *Store, old *sample) error {
	keepers := store.Manifest().Keepers()
	var missing []string
	for _, p := range s.passages {
		if !s.takeOver(keepers, p, old) {
			missing = append(missing, p.id)
		}
	}
	var fields []string
	for _, x := range keepers {
		fields = append(fields, x.Sources()...)
	}
	for some := range slices.Chunk(missing, fetchPassages) {
		var stored []schema.StoredDocument
		var err error
		if late := lateExperts(keepers); len(late) > 0 {
			stored, err = store.readSeen(ctx, cluster.Opening, some, late, fields...)
		} else {
			stored, err = store.readStored(ctx, some, fields...)
		}
		if err != nil {
			return err
		}
		for i, has := range stored {
			at := slices.IndexFunc(s.passages, func(p samplePassage) bool { return p.id == some[i] })
			if !has.Found {
				s.passages = slices.Delete(s.passages, at, at+1)
				continue
			}
			s.passages[at].seqNo, s.passages[at].term = has.SeqNo, has.Term
			if err := s.takeVectors(keepers, some[i], has.Source); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOver copies the vectors and codes of a passage from old, and reports whether old had those of all experts for
// this state of the passage. If not, it copies nothing. old may be nil.
func (s *sample) takeOver(keepers []schema.Expert, p samplePassage, old *sample) bool {
	if old == nil || !slices.Contains(old.passages, p) {
		return false
	}
	for _, x := range keepers {
		if old.vectors[x.Name][p.id] == nil && old.codes[x.Name][p.id] == nil {
			return false
		}
	}
	for _, x := range keepers {
		s.keep(x, p.id, old.vectors[x.Name][p.id], old.codes[x.Name][p.id])
	}
	return true
}

// takeVectors keeps the vectors and codes that a document has of each of the experts keepers. It fails if one is
// missing or cannot be decoded.
func (s *sample) takeVectors(keepers []schema.Expert, id string, from schema.Source) error {
	for _, x := range keepers {
		if x.Late {
			codes, err := from.Codes(x)
			if err != nil {
				return err
			}
			s.keep(x, id, nil, codes)
			continue
		}
		made, err := from.Encoded(x)
		if err != nil {
			return err
		}
		s.keep(x, id, made.Vectors, nil)
	}
	return nil
}

// keep stores what an expert made of the passage with an id: codes if the expert is of late interaction, otherwise
// vector. The other one is ignored.
func (s *sample) keep(x schema.Expert, id string, vector []float32, codes []byte) {
	if s.vectors[x.Name] == nil {
		s.vectors[x.Name], s.codes[x.Name] = map[string][]float32{}, map[string][]byte{}
	}
	if x.Late {
		s.codes[x.Name][id] = codes
	} else {
		s.vectors[x.Name][id] = vector
	}
}

// placedSample is a sample with the ordinals that a table gives its passages.
type placedSample struct {
	*sample
	ordinals []rank.Ordinal
	ids      map[rank.Ordinal]string
}

// placeIn returns the sample with the ordinals of its passages in the table t. Passages that t does not know get new
// ordinals there. It returns nil if s is nil.
func (s *sample) placeIn(t *table) *placedSample {
	if s == nil {
		return nil
	}
	out := &placedSample{sample: s, ids: map[rank.Ordinal]string{}}
	for _, p := range s.passages {
		o := t.ordinal(p.id, p.bytes, 0)
		out.ordinals = append(out.ordinals, o)
		out.ids[o] = p.id
	}
	return out
}

// vector returns the vector of an expert for a passage, or those of its windows one after the other; nil if the
// passage is not in the sample, or s is nil.
func (s *placedSample) vector(x schema.Expert, o rank.Ordinal) []float32 {
	if s == nil {
		return nil
	}
	return s.vectors[x.Name][s.ids[o]]
}

// code returns the codes of an expert for a passage; nil if the passage is not in the sample, or s is nil.
func (s *placedSample) code(x schema.Expert, o rank.Ordinal) []byte {
	if s == nil {
		return nil
	}
	return s.codes[x.Name][s.ids[o]]
}

// sortBy sorts ordinals by their ids, which are in ids by ordinal.
func sortBy(ordinals []rank.Ordinal, ids []string) {
	slices.SortFunc(ordinals, func(a, b rank.Ordinal) int { return cmp.Compare(ids[a], ids[b]) })
}
