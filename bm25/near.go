package bm25

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/bm25/forms"
)

// NearWindow is how many terms in a row of a text count as near each other: about twelve words.
const NearWindow = 8

// mostNearTerms is how many terms of a question Nearness looks for: bits of a mask.
const mostNearTerms = 64

// NearTerm is a distinct term of a question, with its rarity in the collection.
type NearTerm struct {
	Term string
	DF   int // the number of passages that have it
	IDF  float32
}

// Nearness scores passages by how near the words of one question stand in them: the score is the greatest sum, over
// all windows of NearWindow terms in a row of the text, of the idf of the question's distinct terms that stand in the
// window or in the title, in the question's form or in another (forms.Variant). Stop words are passed over. It is not
// safe for concurrent use.
type Nearness struct {
	question string
	terms    []NearTerm // in the order in which scores add up their idf
	analyser forms.Analyser
	entries  map[string]uint64    // the terms that a term of a passage, or another form with its mark, stands for
	pairs    map[string]uint64    // the terms that two adjacent terms stand for
	parts    map[string]bool      // the terms of pairs
	known    map[string]nearEntry // of plain words of passages that were looked up
	chunks   map[string]nearChunk // of passages that were read
	may      [32]uint32           // the first two letters that words with an entry may have, by letterNumber
	begins   [32 * 32]uint32      // the first three letters of words whose term may be an entry, by letterNumber
	title    uint64               // the terms in the title; scratch
	places   []placedTerms        // in the text; scratch
	last     nearEntry            // of the last word that is part of a pair; scratch
	lastAt   int                  // its place
}

// nearEntry is what a word of a passage means to a question: the terms that it stands for, its own term if that is part
// of a pair, and whether it is a stop word.
type nearEntry struct {
	mask uint64
	part string
	stop bool // it is a stop word
}

// placedTerms are the question's terms at one place of a passage.
type placedTerms struct {
	at   int
	mask uint64
}

// NewNearness returns the Nearness of a question whose passages are analysed in this way. rarities are of the
// question's terms; those that are missing, or whose idf is not above 0, do not count. Of more than mostNearTerms
// terms the rarest count. rarities stay unchanged.
func NewNearness(analysis forms.Analysis, question string, rarities []NearTerm) *Nearness {
	n := &Nearness{
		question: question, analyser: forms.NewAnalyser(analysis),
		entries: map[string]uint64{}, known: map[string]nearEntry{}, chunks: map[string]nearChunk{},
	}
	n.terms = slices.DeleteFunc(slices.Clone(rarities), func(t NearTerm) bool { return !(t.IDF > 0) })
	slices.SortFunc(n.terms, func(a, b NearTerm) int {
		return cmp.Or(cmp.Compare(b.IDF, a.IDF), strings.Compare(a.Term, b.Term))
	})
	n.terms = n.terms[:min(len(n.terms), mostNearTerms)]
	for i, t := range n.terms {
		n.entries[t.Term] |= 1 << i
	}
	for _, v := range analysis.Variants(question) {
		mask := uint64(0)
		for i, t := range n.terms {
			if slices.Contains(v.Of, t.Term) {
				mask |= 1 << i
			}
		}
		if mask != 0 {
			n.addVariant(v.Entries, mask)
		}
	}
	if !n.analyser.IsEnglish() {
		for i := range n.may {
			n.may[i] = math.MaxUint32
		}
		for i := range n.begins {
			n.begins[i] = math.MaxUint32
		}
	}
	for entry := range n.entries {
		n.admit(entry)
	}
	for part := range n.parts {
		n.admit(part)
	}
	return n
}

// addVariant records that each of these entries of the vocabulary, or phrases of two terms, stands for the terms in
// mask: bit i for n.terms[i].
func (n *Nearness) addVariant(entries []string, mask uint64) {
	for _, entry := range entries {
		first, second, pair := strings.Cut(entry, string(forms.PhraseGap))
		if !pair {
			n.entries[entry] |= mask
			continue
		}
		if n.pairs == nil {
			n.pairs, n.parts = map[string]uint64{}, map[string]bool{}
		}
		n.pairs[entry] |= mask
		n.parts[first], n.parts[second] = true, true
	}
}

// admit adds the first letters of an entry to n.may and, if it is a term, to n.begins; words of ASCII that begin with
// no such letters are not looked up. It relies on this: terms and other forms begin with the first two letters of their
// words, but for an i in place of a y; and a stem of four letters or more, whose end alone the stemmer may have
// replaced, with the first three.
func (n *Nearness) admit(entry string) {
	term := entry
	entry = strings.TrimPrefix(entry, forms.FormMark)
	switch len(entry) {
	case 0:
	case 1:
		n.may[letterNumber(entry[0])] = math.MaxUint32
	default:
		n.may[letterNumber(entry[0])] |= 1 << letterNumber(entry[1])
	}
	if term != entry {
		return
	}
	switch len(term) {
	case 0:
	case 1:
		from := int(letterNumber(term[0])) << 5
		for i := range 32 {
			n.begins[from+i] = math.MaxUint32
		}
	case 2, 3:
		n.begins[int(letterNumber(term[0]))<<5|int(letterNumber(term[1]))] = math.MaxUint32
	default:
		n.begins[int(letterNumber(term[0]))<<5|int(letterNumber(term[1]))] |= 1 << letterNumber(term[2])
	}
}

// mayStandFor reports whether a part of a text, or another form of it, may be an entry: always, unless it is ASCII and
// no piece of it between marks begins as one.
func (n *Nearness) mayStandFor(text string) bool {
	if !n.analyser.IsEnglish() {
		return true // terms may begin otherwise than their words do
	}
	inside := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			return true
		case byteClasses[c] != plainByte:
			inside = false
			continue
		case inside:
			continue
		}
		inside = true
		second := uint32(math.MaxUint32) // of a piece of one letter any, since in a form another piece may follow
		if i+1 < len(text) && byteClasses[text[i+1]] == plainByte {
			second = 1 << letterNumber(text[i+1])
		}
		if n.may[letterNumber(c)]&second != 0 {
			return true
		}
	}
	return false
}

// letterNumber returns a number below 32, the same for both cases of a letter, and for i and y.
func letterNumber(c byte) uint8 {
	c |= 0x20
	if c == 'y' {
		c = 'i'
	}
	return c & 31
}

// Score returns the score of a passage: the greatest sum of the idf of the question's terms near each other, or 0 if it
// has none of the question's words.
func (n *Nearness) Score(title, text []byte) float32 {
	n.find(title, text)
	_, score := n.best()
	return score
}

// Terms returns the question's terms in the window, with those in the title, that gives a passage its score, rarest
// first; the first window of equals. It is nil if the passage has none of the question's words.
func (n *Nearness) Terms(title, text []byte) (terms []NearTerm) {
	n.find(title, text)
	mask, _ := n.best()
	for i, t := range n.terms {
		if mask>>i&1 != 0 {
			terms = append(terms, t)
		}
	}
	return terms
}

// best returns the terms of the title and of the window with which their sum is greatest, and the sum.
func (n *Nearness) best() (best uint64, score float32) {
	best = n.title
	most := n.sum(best)
	from := 0
	for to := range n.places {
		for n.places[to].at-n.places[from].at >= NearWindow {
			from++
		}
		mask := n.title
		for _, p := range n.places[from : to+1] {
			mask |= p.mask
		}
		if mask&^best == 0 {
			continue
		}
		if sum := n.sum(mask); sum > most {
			best = mask
			most = sum
		}
	}
	return best, float32(most)
}

// sum returns the sum of the idf of a set of terms, added up in the order of n.terms. Bit i of mask stands for
// n.terms[i].
func (n *Nearness) sum(mask uint64) (sum float64) {
	for ; mask != 0; mask &= mask - 1 {
		sum += float64(n.terms[bits.TrailingZeros64(mask)].IDF)
	}
	return sum
}

// find sets n.title to the question's terms in the title of a passage, and n.places to where they stand in the text, in
// the order of the places.
func (n *Nearness) find(title, text []byte) {
	n.title = 0
	n.places = n.places[:0]
	if len(n.terms) == 0 {
		return
	}
	n.findIn(title)
	for _, p := range n.places {
		n.title |= p.mask
	}
	n.places = n.places[:0]
	n.findIn(text)
}

// Nearness returns the Nearness of a question in the collection, by the rarities of its terms there. It fails if an
// index is damaged. One goroutine at a time may use it. A caller that does not need it any more may say so with
// KeepNearness.
func (s *Searcher) Nearness(question string) (*Nearness, error) {
	if n := s.recent.takeNearness(question); n != nil {
		return n, nil
	}
	rarities, err := s.Rarities(question)
	if err != nil {
		return nil, err
	}
	var terms []NearTerm
	for _, r := range rarities {
		if r.DF > 0 {
			terms = append(terms, NearTerm{Term: r.Term, IDF: r.IDF, DF: r.DF})
		}
	}
	return NewNearness(s.params.Analysis, question, terms), nil
}

// KeepNearness keeps what Nearness returned for a later call with the same question, with the words that it has looked
// up. The caller must not use n afterwards.
func (s *Searcher) KeepNearness(n *Nearness) { s.recent.keepNearness(n) }
