package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// titled is the title and the text of a passage.
type titled struct{ title, text []byte }

// keptTexts are texts of passages that questions read for nearness, by the fingerprints of their documents, since most
// questions of a while have some candidates in common. Fingerprints are equal for texts that differ in white space and
// case alone, which nearness does not see.
type keptTexts struct {
	byPrint map[uint64]titled
	bytes   int
}

// mostKeptBytes is how many bytes of texts a corpus keeps for nearness; then it begins anew.
const mostKeptBytes = 32 << 20

// ExpectNear announces that NearScores will be called, so that Prefetch fetches the texts of passages, too.
func (w words) ExpectNear(string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nearing = true
}

// NearScores writes to out, which must have an element for each passage, how near the words of a question stand in it
// (bm25.Nearness); 0 for a passage that is gone. Texts that were not fetched in advance take one request. It fails if
// a part of the index has no copy that answers.
func (w words) NearScores(ctx context.Context, question string, passages []rank.Ordinal, out []float32) error {
	near, err := w.nearness(ctx, question)
	if err != nil {
		return err
	}
	if err := w.fetchTexts(ctx, passages); err != nil {
		return err
	}
	for i, o := range passages {
		t, _ := w.textOf(o)
		out[i] = near.Score(t.title, t.text)
	}
	return nil
}

// ExplainNear returns the terms of a question that count towards a passage's score of NearScores, which is the sum of
// their idf; nil for a passage that is gone. It fails if the cluster does.
func (w words) ExplainNear(ctx context.Context, question string, passage rank.Ordinal) ([]storage.TermScore, error) {
	near, err := w.nearness(ctx, question)
	if err != nil {
		return nil, err
	}
	if err := w.fetchTexts(ctx, []rank.Ordinal{passage}); err != nil {
		return nil, err
	}
	t, _ := w.textOf(passage)
	var terms []storage.TermScore
	for _, term := range near.Terms(t.title, t.text) {
		terms = append(terms, storage.NearTerm(term.Term, term.DF, term.IDF))
	}
	return terms, nil
}

// nearness returns the Nearness of a question in the index. Words that were counted inexactly have the rarities that
// this request was told first. It fails if the words cannot be counted at all.
func (w words) nearness(ctx context.Context, question string) (*bm25.Nearness, error) {
	rarities, err := w.Rarities(ctx, []string{question})
	if err != nil && !storage.IsPartial(err) {
		return nil, err
	}
	var terms []bm25.NearTerm
	for _, r := range rarities[0] {
		if r.DocFrequency > 0 {
			terms = append(terms, bm25.NearTerm{Term: r.Term, DF: r.DocFrequency, IDF: float32(r.IDF)})
		}
	}
	return bm25.NewNearness(w.store.Manifest().Words.Params().Analysis, question, terms), nil
}

// textOf returns the title and text of a passage that this request has fetched or taken from the cache; false if it
// has not.
func (r *request) textOf(o rank.Ordinal) (titled, bool) {
	r.mu.Lock()
	t, ok := r.nearTexts[o]
	r.mu.Unlock()
	return t, ok
}

// withoutText returns those passages whose texts are known neither to the request nor to the corpus's cache of texts.
// Texts that the cache has are copied into the request.
func (r *request) withoutText(ordinals []rank.Ordinal) (missing []rank.Ordinal) {
	prints := make([]uint64, len(ordinals))
	r.table.mu.RLock()
	for i, o := range ordinals {
		prints[i] = r.table.prints[o]
	}
	r.table.mu.RUnlock()
	r.corpus.textsMu.Lock()
	defer r.corpus.textsMu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, o := range ordinals {
		if _, ok := r.nearTexts[o]; ok {
			continue
		}
		if t, ok := r.corpus.texts.byPrint[prints[i]]; ok && prints[i] != 0 {
			r.nearTexts[o] = t
			continue
		}
		missing = append(missing, o)
	}
	return missing
}

// textsSearch returns the search for the titles and texts of passages.
func (r *request) textsSearch(ordinals []rank.Ordinal) object {
	return object{
		"size":             len(ordinals),
		"query":            object{"bool": object{"filter": r.store.idsQuery(r.table.idsOf(ordinals))}},
		"track_total_hits": false,
		"_source":          []string{schema.FieldTitle, schema.FieldText},
		"docvalue_fields":  []string{schema.FieldBytes, schema.FieldPrint},
	}
}

// takeTexts keeps the texts in the answer to textsSearch, for the request and in the cache for later ones. A passage
// that is not in the answer gets an empty text for this request; but if shards failed, it stays unknown. It fails if a
// text cannot be decoded.
func (r *request) takeTexts(ordinals []rank.Ordinal, s searchAnswer) error {
	byID := make(map[string]titled, len(s.hits))
	r.corpus.textsMu.Lock()
	defer r.corpus.textsMu.Unlock()
	for _, h := range s.hits {
		var title, text string
		for field, into := range map[string]*string{schema.FieldTitle: &title, schema.FieldText: &text} {
			if raw, ok := h.source[field]; ok {
				if err := json.Unmarshal(raw, into); err != nil {
					return fmt.Errorf("%w: passage %q: field %s: %w", cluster.ErrAnswer, h.id, field, err)
				}
			}
		}
		t := titled{[]byte(title), []byte(text)}
		byID[h.id] = t
		if h.print != 0 {
			r.corpus.texts.keep(h.print, t)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, id := range r.table.idsOf(ordinals) {
		if t, ok := byID[id]; ok || s.lost == nil {
			r.nearTexts[ordinals[i]] = t
		}
	}
	return nil
}

// keep adds a text to the cache under the fingerprint of its document, unless it is there. If the cache has more than
// mostKeptBytes, keep first empties it. The caller holds Corpus.textsMu.
func (k *keptTexts) keep(print uint64, t titled) {
	if k.byPrint == nil || k.bytes > mostKeptBytes {
		*k = keptTexts{byPrint: map[uint64]titled{}}
	}
	if _, ok := k.byPrint[print]; !ok {
		k.byPrint[print] = t
		k.bytes += len(t.title) + len(t.text) + keptTextBytes
	}
}

// keptTextBytes is about what a text takes besides its bytes.
const keptTextBytes = 80

// fetchTexts fetches the texts of those passages that have none yet. It fails if the answer is not of all shards.
func (r *request) fetchTexts(ctx context.Context, ordinals []rank.Ordinal) error {
	for some := range slices.Chunk(r.withoutText(ordinals), mostHits) {
		answers, err := r.store.multiPartly(ctx, []object{r.textsSearch(some)})
		if err == nil {
			err = r.takeTexts(some, answers[0])
		}
		if err == nil {
			err = firstLostError(answers)
		}
		if err != nil {
			return fmt.Errorf("reading the texts of %d passages: %w", len(some), err)
		}
	}
	return nil
}
