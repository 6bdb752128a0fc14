package opensearch

import (
	"cmp"
	"context"
	"slices"
	"unicode/utf8"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/search"
)

// Vocabulary shows how the words of the index are written, as it was when they were read
// last; nil where they were not.
func (v *view) Vocabulary() search.Vocabulary {
	if x := v.corpus.lexicon.Load(); x != nil {
		return vocabulary{v, x}
	}
	return nil
}

type vocabulary struct {
	*view
	lexicon *lexicon
}

// Look implements search.Vocabulary. It asks the cluster for nothing, except for words that
// are unknown and may be there all the same, since passages changed or not all words fit.
func (v vocabulary) Look(ctx context.Context, words []string) ([]search.Spelled, error) {
	out := make([]search.Spelled, len(words))
	analysis := v.store.Manifest().Words.Params().Analysis
	var unknown []*wordQuery
	var finding []object
	var at []int
	for i, word := range words {
		q := newWordQuery(fieldWords, analysis, word)
		out[i].Known = len(q.terms) == 0 ||
			slices.ContainsFunc(q.terms, func(t term) bool { return v.lexicon.has(t.text) }) ||
			slices.ContainsFunc(q.entries, v.lexicon.has)
		if !out[i].Known {
			unknown, finding, at = append(unknown, q), append(finding, q.finding()), append(at, i)
		}
	}
	if !v.lexicon.whole || v.lexicon.state != v.corpus.Known().state() {
		answers, err := v.store.multiPartly(ctx, finding)
		if err != nil {
			return nil, err
		}
		for n := range unknown {
			out[at[n]].Known = len(answers[n].hits) > 0
		}
	}
	for i, word := range words {
		if out[i].Known {
			continue
		}
		out[i].Near = v.lexicon.words.Near(nil, word, spelling.MostEdits(utf8.RuneCountInString(word)+1))
		slices.SortFunc(out[i].Near, func(a, b spelling.Candidate) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
		})
	}
	return out, nil
}

// finding returns the search for any passage with a term or an entry.
func (q *wordQuery) finding() object {
	var queries []any
	for _, e := range q.looked() {
		queries = append(queries, termQuery(e.field, e.text, 1))
	}
	return object{"size": 1, "query": sumOf(queries), "track_total_hits": false, "_source": false, "terminate_after": 1}
}

// Beside implements search.Vocabulary, in one request at most.
func (v vocabulary) Beside(ctx context.Context, placed []search.Placed) ([]search.Neighbours, error) {
	out := make([]search.Neighbours, len(placed))
	w := v.store.Manifest().Words.Params()
	if !w.Phrases {
		return out, nil
	}
	var looked []entry
	var shares []func(*termCounts)
	share := func(neighbour, pair string, into *float64) {
		alone, together := entry{fieldWords, neighbour}, entry{fieldPairs, pair}
		looked = append(looked, alone, together)
		shares = append(shares, func(counts *termCounts) {
			if all := counts.of[alone]; all > 0 {
				*into = min(1, float64(counts.of[together])/float64(all))
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
			share(last, last+bm25.PairGap+terms[0], &out[i].Before)
		}
		if after := w.Analysis.Terms(p.After); len(after) > 0 {
			share(after[0], terms[len(terms)-1]+bm25.PairGap+after[0], &out[i].After)
		}
	}
	if len(shares) == 0 {
		return out, nil
	}
	counts, err := v.corpus.termCounts(ctx, looked)
	if err != nil {
		return nil, err
	}
	for _, take := range shares {
		take(counts)
	}
	return out, nil
}
