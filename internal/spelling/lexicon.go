package spelling

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// MostWords is the largest number of words of a Lexicon, which has the most frequent ones.
const MostWords = 1 << 18

// Lexicon holds words with the number of texts that have them, so that words like another one can be found. The words
// of each length follow each other, with a signature of the letters of each. A search compares the signatures of the
// lengths that are possible, about a nanosecond each, and the letters of the few words that remain. It takes about 25
// bytes for a word, does not change, and is safe for concurrent use.
type Lexicon struct {
	lengths [LongestWord + 1]sameLength
	words   int
	total   int64
}

// sameLength holds the words of one length, sorted.
type sameLength struct {
	text       string   // one after the other
	ends       []uint32 // of the words in text
	signatures []uint64
	counts     []uint32
}

// NewLexicon returns a Lexicon of words in lower case with their counts. Words of more than LongestWord letters are
// left out, and of more than MostWords those with the lowest counts.
func NewLexicon(counts map[string]uint32) *Lexicon {
	words := slices.Collect(maps.Keys(counts))
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	words = words[:min(len(words), MostWords)]
	slices.Sort(words)
	x := &Lexicon{}
	var texts [LongestWord + 1]strings.Builder
	for _, word := range words {
		n := utf8.RuneCountInString(word)
		if n == 0 || n > LongestWord {
			continue
		}
		list := &x.lengths[n]
		texts[n].WriteString(word)
		list.ends = append(list.ends, uint32(texts[n].Len()))
		list.signatures = append(list.signatures, letterSignature(word))
		list.counts = append(list.counts, counts[word])
		x.words, x.total = x.words+1, x.total+int64(counts[word])
	}
	for n := range texts {
		x.lengths[n].text = texts[n].String()
	}
	return x
}

// Len returns the number of words.
func (x *Lexicon) Len() int { return x.words }

// Total returns the sum of the counts.
func (x *Lexicon) Total() int64 { return x.total }

// Count returns the number of texts that have a word; 0 if it is not in the Lexicon.
func (x *Lexicon) Count(word string) int {
	n := utf8.RuneCountInString(word)
	if n > LongestWord {
		return 0
	}
	list := &x.lengths[n]
	at := sort.Search(len(list.ends), func(at int) bool { return list.wordAt(at) >= word })
	if at == len(list.ends) || list.wordAt(at) != word {
		return 0
	}
	return int(list.counts[at])
}

// Each calls yield with each word and its count, the shortest words first, and those of one length in the order of
// their bytes, until yield returns false.
func (x *Lexicon) Each(yield func(word string, count uint32) bool) {
	for n := range x.lengths {
		list := &x.lengths[n]
		for at, count := range list.counts {
			if !yield(list.wordAt(at), count) {
				return
			}
		}
	}
}

// Candidate is a word that may have been meant by a typed one.
type Candidate struct {
	Word  string
	Count int
	Edits Edits // from Word to what was typed
}

// Near appends to `into` the words that are from one to `most` edits away from the typed word, which is in lower
// case, the shorter ones first. The word itself is not among them.
func (x *Lexicon) Near(into []Candidate, typed string, most int) []Candidate {
	letters := []rune(typed)
	marks := letterSignature(typed)
	var buffer [LongestWord]rune
	for n := max(1, len(letters)-most); n <= min(LongestWord, len(letters)+most); n++ {
		list := &x.lengths[n]
		// An edit that replaces a letter changes two marks of a signature at most, and one
		// that adds or drops a letter changes one.
		differ := 2*most - max(n-len(letters), len(letters)-n)
		for at, other := range list.signatures {
			if bits.OnesCount64(other^marks) > differ {
				continue
			}
			word := list.wordAt(at)
			if edits, near := Between(appendRunes(buffer[:0], word), letters, most); near && edits.Total() > 0 {
				into = append(into, Candidate{Word: word, Count: int(list.counts[at]), Edits: edits})
			}
		}
	}
	return into
}

// Beginning appends to `into` the most frequent words that begin with prefix and are longer, at most so many (most) of
// each length, the shorter ones first. prefix is in lower case.
func (x *Lexicon) Beginning(into []Candidate, prefix string, most int) []Candidate {
	for n := utf8.RuneCountInString(prefix) + 1; n <= LongestWord; n++ {
		list := &x.lengths[n]
		from := sort.Search(len(list.ends), func(at int) bool { return list.wordAt(at) >= prefix })
		begins := len(into)
		for at := from; at < len(list.ends) && strings.HasPrefix(list.wordAt(at), prefix); at++ {
			into = append(into, Candidate{Word: list.wordAt(at), Count: int(list.counts[at])})
		}
		of := into[begins:]
		slices.SortFunc(of, CompareFrequency)
		into = into[:begins+min(most, len(of))]
	}
	return into
}

// CompareFrequency orders candidates by their counts, the highest first, and equally frequent ones by their words.
func CompareFrequency(a, b Candidate) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
}

// appendRunes appends the runes of a word.
func appendRunes(into []rune, word string) []rune {
	for _, r := range word {
		into = append(into, r)
	}
	return into
}

// wordAt returns the word with an index from 0, in the order of the words.
func (s *sameLength) wordAt(at int) string {
	from := uint32(0)
	if at > 0 {
		from = s.ends[at-1]
	}
	return s.text[from:s.ends[at]]
}

// letterSignature returns a bit set of a word's letters: a bit for each letter from a to z, another one for each letter
// that it has twice or more, and one of a few for any other letter.
func letterSignature(word string) (marks uint64) {
	for _, r := range word {
		switch {
		case r < 'a' || r > 'z':
			marks |= 1 << (52 + uint(r)%12)
		case marks>>(r-'a')&1 != 0:
			marks |= 1 << (r - 'a' + 26)
		default:
			marks |= 1 << (r - 'a')
		}
	}
	return marks
}
