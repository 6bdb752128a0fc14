package folder

import (
	"errors"
	"math/bits"
	"sort"
	"strings"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// A Condition says which passages are selected: those that have every tag of TagsAll, at least
// one of TagsAny, every wording of Must and none of MustNot, are not Hidden, and meet Fields. An empty list sets no
// condition.
type Condition struct {
	TagsAll, TagsAny []string
	// Documents are the ids of documents; a passage has to be of one of them.
	Documents []string
	// A wording is a word, in any form with the same term, or several that have to stand one
	// after the other as they are.
	Must, MustNot []string
	// Hidden are passages and documents that are not selected.
	Hidden []Hidden
	// Fields says what the metadata of a passage have to hold; the zero value lets all through.
	Fields conditions.Node
}

// Hidden names a passage, or a document with all its passages, by its id. Member is the number of the collection that
// has it in a joined generation (Join), otherwise 0.
type Hidden struct {
	Member int
	ID     string
}

// hide clears the bits in words of the passages of segment at that are hidden or of a hidden document, and returns how
// many bits are left. Ids that do not exist change nothing. It fails if a file is damaged.
func (g *Generation) hide(at int, words []uint64, hidden []Hidden) (count int, err error) {
	member := g.Member(g.segments[at].base)
	for _, h := range hidden {
		if h.Member != member {
			continue
		}
		if err := g.eachOf(at, h.ID, func(o int) { words[o/64] &^= 1 << (o % 64) }); err != nil {
			return 0, err
		}
		ordinal, ok, err := g.segments[at].store.Ordinal(h.ID)
		if err != nil {
			return 0, err
		}
		if ok {
			words[ordinal/64] &^= 1 << (ordinal % 64)
		}
	}
	for _, word := range words {
		count += bits.OnesCount64(word)
	}
	return count, nil
}

// eachOf calls do with the number in segment at of each passage of a document. It fails if a file is damaged.
func (g *Generation) eachOf(at int, document string, do func(passage int)) error {
	s := g.segments[at].store
	from := document + "#"
	var failed error
	first := sort.Search(s.Len(), func(o int) bool {
		id, err := s.ID(rank.Ordinal(o))
		failed = errors.Join(failed, err)
		return id >= from
	})
	for o := first; o < s.Len() && failed == nil; o++ {
		var id string
		id, failed = s.ID(rank.Ordinal(o))
		if !strings.HasPrefix(id, from) {
			break
		}
		if whose, _, ok := corpus.SplitPassageID(id); ok && whose == document {
			do(o)
		}
	}
	return failed
}

// filterDocuments clears the bits in words of all passages of segment at that are not of one of the documents, and
// returns how many bits are left. It fails if a file is damaged.
func (g *Generation) filterDocuments(at int, words []uint64, documents []string) (count int, err error) {
	matching := make([]uint64, len(words))
	for _, document := range documents {
		if err := g.eachOf(at, document, func(o int) { matching[o/64] |= 1 << (o % 64) }); err != nil {
			return 0, err
		}
	}
	for i := range words {
		words[i] &= matching[i]
		count += bits.OnesCount64(words[i])
	}
	return count, nil
}

// mostCompared is the most passages of a segment whose texts are compared with a wording. If more
// have its terms side by side, all of them count as having the wording.
const mostCompared = 20_000

// filterWorded clears the bits in words of the passages of segment at that lack a wording of c.Must or have one of
// c.MustNot, and returns how many bits are left. It fails if a file is damaged.
func (g *Generation) filterWorded(at int, words []uint64, c Condition) (count int, err error) {
	for _, list := range []struct {
		wordings []string
		not      bool
	}{{c.Must, false}, {c.MustNot, true}} {
		for _, text := range list.wordings {
			having, err := g.wordingBits(at, text, words)
			if err != nil {
				return 0, err
			}
			for i := range words {
				switch {
				case having == nil: // words that are everywhere
				case list.not:
					words[i] &^= having[i]
				default:
					words[i] &= having[i]
				}
			}
		}
	}
	for _, word := range words {
		count += bits.OnesCount64(word)
	}
	return count, nil
}

// wordingBits returns a bit for each passage of segment at, set if the passage has the wording text. Bits of passages
// that are not in among mean nothing.
//
// A wording of several words is compared with the passages' texts, unless more than mostCompared passages have to be
// compared: then those count that have its terms side by side. If a wording has only stop words, all of among have to
// be compared; if these are too many, wordingBits returns nil, and the caller must not exclude any passage. It fails
// for a damaged index, or if a passage cannot be read.
func (g *Generation) wordingBits(at int, text string, among []uint64) ([]uint64, error) {
	wording := bm25.WordingOf(text)
	having, err := g.words.Having(at, text)
	if err != nil || having != nil && !wording.Exact() {
		return having, err
	}
	s := g.segments[at]
	n := 0
	stop := having == nil
	if stop { // all may have it
		having = make([]uint64, len(among))
		copy(having, among)
	}
	for i := range having {
		having[i] &= among[i]
		n += bits.OnesCount64(having[i])
	}
	if n > mostCompared {
		if stop {
			return nil, nil
		}
		return having, nil
	}
	for i, word := range having {
		for ; word != 0; word &= word - 1 {
			bit := bits.TrailingZeros64(word)
			p, err := s.store.Passage(rank.Ordinal(64*i + bit))
			if err != nil {
				return nil, err
			}
			if !wording.In(p.Title) && !wording.In(p.Text) {
				having[i] &^= 1 << bit
			}
		}
	}
	return having, nil
}
