package sources

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/storage"
)

// Keys are the keys of a question (fusion.Key): its words and pairs of words, with how rare they are in the collection.
type Keys struct {
	List []Key // the rarest, at most fusion.MaxKeys, in the order of the question
	// Exact is the share, from 0 to 1, of the question's possible BM25 score that comes from words that few passages
	// have (rare) and that the encoder has only in pieces (pieceShare).
	Exact float64
}

// Key is a word or a pair of words of a question, and the index terms that a passage needs to have it.
type Key struct {
	fusion.Key
	terms, pairs []string // a passage has the key if it has all of these
	Nowhere      bool     // no passage has the rarest of its terms
}

// fewTerms is how many index terms a word without a digit may have to be one key. With more it is a path, or a sentence
// in a script without spaces, and each term is a key.
const fewTerms = 3

// ReadKeys returns the keys of the question: its mostWords rarest words, as they are written, and pairs of neighbouring
// terms that some passage has, with the rarity of each. A word that the index has in parts, such as BC.6613-18, is one
// key, which a passage has if it has all parts, next to each other if phrases is not nil. Each part of a longer word,
// such as a path, is a key of its own. It fails if an index cannot be read. With a *storage.PartialError the keys are
// usable, and words were counted inexactly.
func (p *Findings) ReadKeys(ctx context.Context, words, phrases storage.WordIndex) (*Keys, error) {
	chunks := content.DistinctWords(p.Inquiry.Question)
	rarities, lacks := words.Rarities(ctx, chunks)
	if lacks != nil && !storage.IsPartial(lacks) {
		return nil, fmt.Errorf("the words' rarities: %w", lacks)
	}
	out := &Keys{}
	exact, all := 0.0, 0.0
	for i, chunk := range chunks {
		terms := rarities[i]
		if len(terms) == 0 {
			continue
		}
		rarest := terms[0]
		mass := 0.0
		for _, t := range terms {
			if t.DocFrequency > 0 {
				mass += float64(t.Count) * t.IDF
			}
			if t.DocFrequency < rarest.DocFrequency {
				rarest = t
			}
		}
		all += mass
		exact += mass * rarityWeight(rarest.DocFrequency) * p.pieceShare(chunk)
		if content.HasDigit(chunk) || len(terms) <= fewTerms {
			out.List = append(
				out.List,
				Key{
					Key:   fusion.Key{Text: chunk, Rarity: rarest.Relative, Code: IdentifyingPower(chunk, rarest)},
					terms: termsOf(terms), Nowhere: rarest.DocFrequency == 0,
				},
			)
			continue
		}
		for j, t := range terms {
			out.List = append(out.List, Key{Key: fusion.Key{Text: t.Term, Rarity: t.Relative}, terms: termsOf(terms[j : j+1])})
		}
	}
	if all > 0 {
		out.Exact = exact / all
	}
	out.List = rarestOf(out.List, mostWords)
	if phrases == nil {
		return out, lacks
	}
	err := out.readPairs(ctx, p.Inquiry.Question, phrases)
	if err == nil || storage.IsPartial(err) {
		err = cmp.Or(lacks, err)
	}
	return out, err
}

// IdentifyingPower returns how well a word with a digit identifies one passage, from 0 to 1. It is 1 if its digits and
// letters could form as many different words as it takes to make a term rare that no passage has, and 0 if they carry
// half as many bits or fewer, or if the word has no digit. Of 1,800 passages, a year identifies one, and the number 42
// hardly. term is the word's rarest index term.
func IdentifyingPower(word string, term storage.Rarity) float64 {
	if !content.HasDigit(word) || term.IDF <= 0 {
		return 0
	}
	information := 0.0
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			information += math.Log(10)
		case unicode.IsLetter(r):
			information += math.Log(26)
		}
	}
	return min(1, max(0, 2*information*term.Relative/term.IDF-1))
}

// mostWords is how many keys are words at most; the other keys are pairs of words.
const mostWords = 40

// readPairs adds the pairs of neighbouring words of the question that some passage has to the keys, the rarest ones up
// to fusion.MaxKeys. It also sets which pairs the keys of several terms consist of. It fails if the index cannot be
// read. With a *storage.PartialError it has done so, and pairs were counted inexactly.
func (k *Keys) readPairs(ctx context.Context, question string, phrases storage.WordIndex) error {
	texts := []string{question}
	var inParts []*Key
	for i := range k.List {
		if x := &k.List[i]; len(x.terms) > 1 {
			texts, inParts = append(texts, x.Text), append(inParts, x)
		}
	}
	pairs, err := phrases.Rarities(ctx, texts)
	if err != nil && !storage.IsPartial(err) {
		return fmt.Errorf("the phrases' rarities: %w", err)
	}
	for i, x := range inParts {
		x.pairs = termsOf(pairs[i+1])
		for _, t := range pairs[i+1] {
			x.Rarity = max(x.Rarity, t.Relative)
		}
	}
	var list []Key
	for _, t := range pairs[0] {
		if t.DocFrequency == 0 {
			continue
		}
		pair := Key{Key: fusion.Key{Text: t.Term, Rarity: t.Relative, Pair: true}, pairs: []string{t.Term}}
		for i, x := range k.List {
			if slices.ContainsFunc(
				strings.Fields(t.Term), func(term string) bool { return slices.Contains(x.terms, term) },
			) {
				pair.Of |= 1 << i
			}
		}
		list = append(list, pair)
	}
	k.List = append(k.List, rarestOf(list, fusion.MaxKeys-len(k.List))...)
	return err
}

// termsOf returns the terms of a list, in its order.
func termsOf(list []storage.Rarity) (terms []string) {
	for _, t := range list {
		terms = append(terms, t.Term)
	}
	return terms
}

// rarestOf returns the n rarest keys of a list, in the order of the list; of equally rare ones the first. If the list
// has no more than n, it returns the list itself.
func rarestOf(list []Key, n int) []Key {
	if len(list) <= n {
		return list
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(list[b].Rarity, list[a].Rarity) })
	order = order[:n]
	slices.Sort(order)
	out := make([]Key, n)
	for i, at := range order {
		out[i] = list[at]
	}
	return out
}

// rarityWeight returns how rare a term is that so many passages have: 1 for one to three passages, falling to 0 at ten.
// It is 0 for a term that no passage has.
func rarityWeight(passages int) float64 {
	if passages == 0 {
		return 0
	}
	return min(1, max(0, float64(10-passages)/7))
}

// pieceShare returns how far the general encoder knows a word only in pieces, from 0 to 1. It is 0 up to four pieces
// for a word with a digit, and up to twelve for one without, since a long word, such as the name of a disease, may
// still be read; it rises to 1 at six pieces more. It is 1 for a word with characters that the encoder cannot read, and
// 0 without a general encoder.
func (p *Findings) pieceShare(word string) float64 {
	x := p.Generalist()
	if x == nil {
		return 0
	}
	word = strings.TrimFunc(word, unicode.IsPunct)
	if _, _, unknown := x.Encoder.KnownWords(word); unknown > 0 {
		return 1
	}
	const special = 2 // tokens that begin and end a text
	few := 12
	if content.HasDigit(word) {
		few = 4
	}
	tokens, _ := x.Encoder.QuestionTokens(word)
	return min(1, max(0, float64(tokens-special-few)/6))
}

// SetOf returns which keys of the question a passage has, as a set of bits: bit i is k.List[i]. A key of several terms
// counts if the passage has all of them, in one word or next to each other. words and phrases are the indexes that the
// keys were read from. It fails if an index cannot be read.
func (k *Keys) SetOf(
	ctx context.Context,
	question string,
	words, phrases storage.WordIndex,
	passage rank.Ordinal,
) (set uint64, err error) {
	terms, forms, err := termsIn(ctx, question, words, passage)
	if err != nil {
		return 0, err
	}
	var pairs map[string]bool
	for i := range k.List {
		x := &k.List[i]
		if len(x.terms) > 1 && slices.ContainsFunc(forms, func(f map[string]bool) bool { return hasAll(f, x.terms) }) {
			set |= 1 << i // in one word, in another form
			continue
		}
		if !hasAll(terms, x.terms) {
			continue
		}
		if len(x.pairs) > 0 {
			if pairs == nil {
				pairs, _, err = termsIn(ctx, question, phrases, passage)
				if err != nil {
					return 0, err
				}
			}
			if !hasAll(pairs, x.pairs) {
				continue
			}
		}
		set |= 1 << i
	}
	return set, nil
}

// hasAll reports whether a set has all terms.
func hasAll(set map[string]bool, terms []string) bool {
	return !slices.ContainsFunc(terms, func(t string) bool { return !set[t] })
}

// termsIn returns the terms of the question that a passage has, in the question's form or another. forms holds, for
// each word of the passage that stands for terms of the question in another form, the set of these terms. It fails if
// the index cannot be read.
func termsIn(
	ctx context.Context,
	question string,
	index storage.WordIndex,
	passage rank.Ordinal,
) (terms map[string]bool, forms []map[string]bool, err error) {
	find := index.Explain
	if h, ok := index.(storage.Holder); ok {
		find = h.Holds
	}
	found, err := find(ctx, question, passage)
	if err != nil {
		return nil, nil, err
	}
	terms = make(map[string]bool, len(found))
	for _, t := range found {
		if t.For == "" {
			terms[t.Term] = true
			continue
		}
		form := map[string]bool{}
		for _, term := range strings.Fields(t.For) {
			terms[term], form[term] = true, true
		}
		forms = append(forms, form)
	}
	return terms, forms, nil
}
