package opensearch

import (
	"cmp"
	"context"
	"slices"

	"example.org/conclave/internal/rank"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// sample holds the passages that a confidence compares each question with, those with the
// lowest keys (corpus.SampleKey), with their vectors and codes: so no request is spent on that.
// It does not change.
type sample struct {
	passages []chosen // in the order of their keys
	vectors  map[string]map[string][]float32
	codes    map[string]map[string][]byte // like vectors by expert and id
}

// chosen is a passage of a sample in the state that its vectors are of.
type chosen struct {
	id          string
	bytes       int
	seqNo, term int64
}

// sampled is how many there are: as many as the engine asks for.
const sampled = 128

// ReadSample draws the sample from the index as it is now. Of passages that are drawn again and
// have not changed nothing is read. It is to be called before questions are answered, and
// from time to time. Where it fails, the last sample stays, if there is one: that is no error.
func (c *Corpus) ReadSample(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var old *sample
	if placed := c.shared.Load().sample; placed != nil {
		old = placed.sample
	}
	next, err := c.draw(ctx, old)
	if err != nil {
		if old != nil {
			return ctx.Err()
		}
		return err
	}
	for {
		now := c.shared.Load()
		if c.shared.CompareAndSwap(now, &shared{now.table, next.byTable(now.table)}) {
			return nil
		}
	}
}

// FillSample counts the passages and draws the sample again while it has fewer passages than it may have, as of an
// index that was just made. It is for whoever knows that passages were added; without it the next look does it.
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

// draw returns the sample of the passages that are there.
func (c *Corpus) draw(ctx context.Context, old *sample) (*sample, error) {
	store := c.Store()
	out := &sample{vectors: map[string]map[string][]float32{}, codes: map[string]map[string][]byte{}}
	answer, err := store.lowest(ctx, c.Known().Passages)
	if err == nil && answer.lost != nil && old != nil {
		err = answer.lost
	}
	if err != nil {
		return nil, err
	}
	for _, hit := range answer.hits {
		out.passages = append(out.passages, chosen{hit.id, hit.bytes, hit.seqNo, hit.term})
	}
	return out, out.read(ctx, store, old)
}

// lowest finds the passages with the lowest keys among n or more. Keys are evenly spread, so it
// looks at those below a bound that four times as many have, which the index finds without
// looking at others, and at more where that were too few.
func (s *Store) lowest(ctx context.Context, n int64) (said, error) {
	const all = 1 << 32
	for bound := int64(all); ; bound *= 16 {
		if few := int64(4 * sampled); bound == all && n > few {
			bound = max(all/n*few, 1)
		}
		answers, err := s.multiPartly(ctx, []object{drawing(object{"range": object{schema.FieldKey: object{"lt": bound}}},
			object{schema.FieldKey: "asc"}, object{schema.FieldID: "asc"})})
		if err != nil {
			return said{}, err
		}
		if len(answers[0].hits) >= sampled || bound >= all {
			return answers[0], nil
		}
	}
}

// drawing returns the search for the first passages in an order that a query finds.
func drawing(query object, order ...any) object {
	return object{"size": sampled, "query": query, "sort": order, "track_total_hits": false, "_source": false,
		"docvalue_fields": []string{schema.FieldBytes}, "seq_no_primary_term": true}
}

// read takes the vectors and codes of the passages over from the last sample, where they are
// of the same state, and reads the others. Passages that are gone by now are left out.
func (s *sample) read(ctx context.Context, store *Store, old *sample) error {
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
		var stored []schema.Stored
		var err error
		if late := lateOf(keepers); len(late) > 0 {
			stored, err = store.seen(ctx, cluster.Opening, some, late, fields...)
		} else {
			stored, err = store.stored(ctx, some, fields...)
		}
		if err != nil {
			return err
		}
		for i, has := range stored {
			at := slices.IndexFunc(s.passages, func(p chosen) bool { return p.id == some[i] })
			if !has.Found {
				s.passages = slices.Delete(s.passages, at, at+1)
				continue
			}
			s.passages[at].seqNo, s.passages[at].term = has.SeqNo, has.Term
			if err := s.take(keepers, some[i], has.Source); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeOver takes what the last sample has of a passage, and reports whether it has everything.
func (s *sample) takeOver(keepers []schema.Expert, p chosen, old *sample) bool {
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

// take takes vectors and codes of a document.
func (s *sample) take(keepers []schema.Expert, id string, from schema.Source) error {
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

// placedSample is a sample by the ordinals of a table.
type placedSample struct {
	*sample
	ordinals []rank.Ordinal
	ids      map[rank.Ordinal]string
}

// byTable returns the sample by the ordinals of a table; nil of nil.
func (s *sample) byTable(t *table) *placedSample {
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

// vector returns that of an expert for a passage, or those of its windows; nil where the passage is not of the sample.
func (s *placedSample) vector(x schema.Expert, o rank.Ordinal) []float32 {
	if s == nil {
		return nil
	}
	return s.vectors[x.Name][s.ids[o]]
}

// code returns the codes of an expert for a passage; nil where the passage is not of the sample.
func (s *placedSample) code(x schema.Expert, o rank.Ordinal) []byte {
	if s == nil {
		return nil
	}
	return s.codes[x.Name][s.ids[o]]
}

// sortBy puts ordinals in the order of their ids.
func sortBy(ordinals []rank.Ordinal, ids []string) {
	slices.SortFunc(ordinals, func(a, b rank.Ordinal) int { return cmp.Compare(ids[a], ids[b]) })
}
