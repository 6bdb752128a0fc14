package opensearch

import (
	"context"
	"slices"
	"unicode/utf8"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/schema"
)

// Vocabulary returns the words of the index as they were read last, of several indexes all of theirs; nil if those of
// one were not read yet.
func (v *view) Vocabulary() storage.Vocabulary {
	if v.corpus.members == nil {
		if x := v.corpus.lexicon.Load(); x != nil {
			return vocabulary{v, lexicons{x}, x.whole && x.state == v.corpus.Known().state()}
		}
		return nil
	}
	all := vocabulary{view: v, whole: true}
	for _, m := range v.corpus.members {
		x := m.lexicon.Load()
		if x == nil {
			return nil
		}
		all.lexicons = append(all.lexicons, x)
		all.whole = all.whole && x.whole && x.state == m.Known().state()
	}
	return all
}

// vocabulary is the words of one index, or of those that are searched together, for finding misspelt words.
type vocabulary struct {
	*view
	lexicons
	whole bool // a word that they do not have is in no passage
}

// lexicons are those of the indexes that are searched together.
type lexicons []*lexicon

// has reports whether one of the lexicons has an entry.
func (all lexicons) has(entry string) bool {
	return slices.ContainsFunc(all, func(x *lexicon) bool { return x.has(entry) })
}

// near returns the words that are at most this many edits from word, in no order, each once, with the sum of its
// counts.
func (all lexicons) near(word string, most int) []spelling.Candidate {
	return all.spelled(func(x *spelling.Lexicon) []spelling.Candidate { return x.Near(nil, word, most) })
}

// spelled returns the words that find returns for each lexicon, in no order, each once, with the sum of its counts.
func (all lexicons) spelled(find func(x *spelling.Lexicon) []spelling.Candidate) (out []spelling.Candidate) {
	at := map[string]int{}
	for _, x := range all {
		for _, c := range find(x.words) {
			if i, there := at[c.Word]; there {
				out[i].Count += c.Count
				continue
			}
			at[c.Word] = len(out)
			out = append(out, c)
		}
	}
	return out
}

// Beginning returns at most so many words (most) that begin with prefix and are longer, the most frequent first, of
// those that were read last. The error is always nil.
func (v vocabulary) Beginning(_ context.Context, prefix string, most int) ([]spelling.Candidate, error) {
	out := v.spelled(func(x *spelling.Lexicon) []spelling.Candidate { return x.Beginning(nil, prefix, most) })
	slices.SortFunc(out, spelling.CompareFrequency)
	return out[:min(most, len(out))], nil
}

// Look returns, for each word in lower case, whether passages have it, and for an unknown one the words within
// spelling.MostEdits, the most frequent first, and equally frequent ones in alphabetical order. The cluster is asked,
// in one request, only about unknown words that may be there all the same, since passages changed after the words
// were read, or not all words were kept. It fails if the cluster does not answer.
func (v vocabulary) Look(ctx context.Context, words []string) ([]storage.Spelling, error) {
	out := make([]storage.Spelling, len(words))
	analysis := v.store.Manifest().Words.Params().Analysis
	var unknown []*wordQuery
	var finding []object
	var at []int
	for i, word := range words {
		q := newWordQuery(schema.FieldWords, analysis, word)
		out[i].Known = len(q.terms) == 0 ||
			slices.ContainsFunc(q.terms, func(t term) bool { return v.has(t.text) }) ||
			slices.ContainsFunc(q.entries, v.has)
		if !out[i].Known {
			unknown, finding, at = append(unknown, q), append(finding, q.existsSearch()), append(at, i)
		}
	}
	if !v.whole {
		answers, err := v.store.multiPartly(ctx, finding)
		if err != nil {
			return nil, err
		}
		for n := range unknown {
			out[at[n]].Known = len(answers[n].hits) > 0 || answers[n].lost != nil // a shard that is lost may have it
		}
	}
	for i, word := range words {
		if out[i].Known {
			continue
		}
		out[i].Near = v.near(word, spelling.MostEdits(utf8.RuneCountInString(word)+1))
		slices.SortFunc(out[i].Near, spelling.CompareFrequency)
	}
	return out, nil
}

// existsSearch returns the search for any one passage with a term or an entry of the query.
func (q *wordQuery) existsSearch() object {
	var queries []any
	for _, e := range q.lookedUp() {
		queries = append(queries, termQuery(e.field, e.text, 1))
	}
	return object{"size": 1, "query": sumOf(queries), "track_total_hits": false, "_source": false, "terminate_after": 1}
}

// NeighbourShares returns two shares for each word, from 0 to 1: of the passages that have the word before it, those
// in which the two stand side by side, and the same for the word after it. Both are 0 if the index has no phrases, or
// the neighbour is in no passage. It takes one request at most. With a *storage.PartialError the words were counted
// inexactly.
func (v vocabulary) NeighbourShares(ctx context.Context, placed []storage.WordInContext) ([]storage.Neighbours, error) {
	out := make([]storage.Neighbours, len(placed))
	w := v.store.Manifest().Words.Params()
	if !w.Phrases {
		return out, nil
	}
	var looked []entry
	var shares []func(*termCounts)
	share := func(neighbour, pair string, into *float64) {
		alone, together := entry{schema.FieldWords, neighbour}, entry{schema.FieldPairs, pair}
		looked = append(looked, alone, together)
		shares = append(shares, func(counts *termCounts) {
			if all := counts.byEntry[alone]; all > 0 {
				*into = min(1, float64(counts.byEntry[together])/float64(all))
			}
		})
	}
	for i, p := range placed {
		terms := w.Analysis.Terms(p.Word)
		if len(terms) == 0 {
			continue
		}
		if before := w.Analysis.Terms(p.Before); len(before) > 0 {
			last := before[len(before)-1]
			share(last, last+forms.PairGap+terms[0], &out[i].Before)
		}
		if after := w.Analysis.Terms(p.After); len(after) > 0 {
			share(after[0], terms[len(terms)-1]+forms.PairGap+after[0], &out[i].After)
		}
	}
	if len(shares) == 0 {
		return out, nil
	}
	counts, err := v.termCounts(ctx, looked)
	if err != nil {
		return nil, err
	}
	for _, take := range shares {
		take(counts)
	}
	return out, v.partialCountsError()
}
