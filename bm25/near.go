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
	terms    []NearTerm // in the order in which scores add up their idf
	analyser forms.Analyser
	entries  map[string]uint64    // the terms that a term of a passage, or another form with its mark, stands for
	pairs    map[string]uint64    // the terms that two adjacent terms stand for
	parts    map[string]bool      // the terms of pairs
	known    map[string]nearEntry // of plain words of passages that were looked up
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
		analyser: forms.NewAnalyser(analysis),
		entries:  map[string]uint64{}, known: map[string]nearEntry{},
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

// The classes of bytes by which chunks of a text, between white space, are told apart.
const (
	plainByte  = 1 << iota // a letter or a digit of ASCII
	aroundByte             // punctuation that separates words at the beginning or the end of a chunk
	otherByte              // what the analysis has to look at
	spaceByte
)

var byteClasses = func() (classes [256]uint8) {
	for c := range classes {
		switch b := byte(c); {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
			classes[c] = plainByte
		case strings.IndexByte(" \t\n\v\f\r", b) >= 0:
			classes[c] = spaceByte
		case strings.IndexByte(`,;:()[]"!?`, b) >= 0:
			classes[c] = aroundByte
		default:
			classes[c] = otherByte
		}
	}
	return classes
}()

// findIn appends to n.places where the question's terms stand in a text: at which of its terms, counted from 0
// without stop words. No word, compound or normal form goes beyond white space of ASCII, so the text is read in
// chunks between it. A chunk of plain letters and digits, with punctuation around it, is one word.
func (n *Nearness) findIn(text []byte) {
	n.last = nearEntry{} // a pair does not go beyond the text
	at := 0
	for i := 0; i < len(text); {
		class := byteClasses[text[i]]
		if class == spaceByte {
			i++
			continue
		}
		from := i
		for class == aroundByte { // before the word
			i++
			if i == len(text) {
				return
			}
			class = byteClasses[text[i]]
		}
		begin := i
		for class == plainByte {
			i++
			if i == len(text) {
				n.placeWord(text[begin:i], at)
				return
			}
			class = byteClasses[text[i]]
		}
		end := i
		for class == aroundByte || class == otherByte && text[i] == '.' {
			i++
			if i == len(text) {
				class = spaceByte
				break
			}
			class = byteClasses[text[i]]
		}
		if class == spaceByte && end-begin < longestPlain {
			if begin < end {
				at = n.placeWord(text[begin:end], at)
			}
			continue
		}
		for i < len(text) && byteClasses[text[i]] != spaceByte {
			i++
		}
		at = n.placeChunk(text[from:i], at)
	}
}

// longestPlain is below the length at which the word rules cut a word.
const longestPlain = 200

// isStopWord reports whether a word of ASCII, which must not be empty, is a stop word, also before a possessive 's.
func (n *Nearness) isStopWord(word string) bool {
	if c := word[len(word)-1] | 0x20; c == 's' && len(word) > 2 && byteClasses[word[len(word)-2]] != plainByte {
		return n.analyser.Term(word) == nil
	}
	return isPlainStopWord([]byte(word))
}

// plainStopWords are the stop words by packedWord, at the places of stopWordPlace.
var plainStopWords = func() (table [stopWordPlaces]uint64) {
	for _, word := range forms.StopWords() {
		key := packedWord([]byte(word))
		at := stopWordPlace(key)
		for table[at] != 0 {
			at = (at + 1) % stopWordPlaces
		}
		table[at] = key
	}
	return table
}()

const (
	stopWordPlaces  = 256
	longestStopWord = 5
)

// packedWord returns the bytes of a word of ASCII as one number, the same for both cases of letters. Only words of at
// most 8 bytes have different numbers.
func packedWord(word []byte) (key uint64) {
	for _, c := range word {
		key = key<<8 | uint64(c|0x20)
	}
	return key
}

// stopWordPlace returns the index in plainStopWords at which the search for a word begins. key is its packedWord.
func stopWordPlace(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> 56 }

// isPlainStopWord reports whether a word of letters and digits of ASCII, in any case, is a stop word.
func isPlainStopWord(word []byte) bool {
	if len(word) > longestStopWord {
		return false
	}
	key := packedWord(word)
	for at := stopWordPlace(key); plainStopWords[at] != 0; at = (at + 1) % stopWordPlaces {
		if plainStopWords[at] == key {
			return true
		}
	}
	return false
}

// placeWord appends the question's terms that a word of plain letters and digits stands for to n.places, at place at,
// and returns the next place: at itself after a stop word, else at+1. It remembers words that it has analysed.
func (n *Nearness) placeWord(word []byte, at int) int {
	first := int(letterNumber(word[0])) << 5
	third := uint8(0)
	if len(word) > 1 {
		first |= int(letterNumber(word[1]))
	}
	if len(word) > 2 {
		third = letterNumber(word[2])
	}
	if n.begins[first]>>third&1 == 0 {
		if isPlainStopWord(word) {
			return at
		}
		return at + 1
	}
	if len(word) >= longestPlain {
		return n.placeChunk(word, at)
	}
	entry, ok := n.known[string(word)]
	if !ok {
		entry = n.entryOf(string(n.analyser.Term(string(word))))
		n.known[string(word)] = entry
	}
	if entry.stop {
		return at
	}
	n.place(at, entry)
	return at + 1
}

// entryOf returns the nearEntry of words with this term: the question's terms that it stands for, and the term itself
// if it is part of a pair. The term "" is that of stop words.
func (n *Nearness) entryOf(term string) (e nearEntry) {
	e.mask = n.entries[term]
	e.stop = term == ""
	if n.parts[term] {
		e.part = term
	}
	return e
}

// placeChunk appends the terms of a chunk of text to n.places, and those that its words' other forms stand for. at is
// the place of its first word. It returns the place after its last; stop words take none.
func (n *Nearness) placeChunk(chunk []byte, at int) int {
	text := n.analyser.Normalised(string(chunk))
	may := n.mayStandFor(text)
	for words := n.analyser.WordsOf(text); ; {
		word, signed, compound := words.Next()
		for _, c := range [...]string{signed, compound} {
			if c == "" || !may || !n.analyser.Forms {
				continue
			}
			for _, j := range n.analyser.CompoundForms(c) {
				n.placeForm(max(at-1, 0), j.Form) // at its last term, or that before it
			}
		}
		if word == "" {
			return at
		}
		if !n.mayStandFor(word) {
			if !n.isStopWord(word) {
				at++
			}
			continue
		}
		term := string(n.analyser.Term(word))
		if term == "" {
			continue
		}
		n.place(at, n.entryOf(term))
		if n.analyser.Forms {
			_, others := n.analyser.PassageForms(word, term)
			for _, form := range others {
				n.placeForm(at, form)
			}
		}
		at++
	}
}

// placeForm adds the question's terms that form stands for to n.places. form is another form of the passage's word at
// this place.
func (n *Nearness) placeForm(at int, form string) {
	if mask := n.entries[forms.FormMark+form]; mask != 0 {
		n.placeTerms(at, mask)
	}
}

// place adds the question's terms that a word at a place stands for to n.places, with those of the pair that it makes
// with the word before.
func (n *Nearness) place(at int, e nearEntry) {
	mask := e.mask
	if e.part != "" {
		if n.lastAt == at-1 && n.last.part != "" {
			mask |= n.pairs[n.last.part+string(forms.PhraseGap)+e.part]
		}
		n.last, n.lastAt = e, at
	}
	if mask != 0 {
		n.placeTerms(at, mask)
	}
}

// placeTerms adds the terms in mask to n.places. The place must not be before that of the last element. at is the
// place, and bit i of mask stands for n.terms[i].
func (n *Nearness) placeTerms(at int, mask uint64) {
	if last := len(n.places) - 1; last >= 0 && n.places[last].at == at {
		n.places[last].mask |= mask
		return
	}
	n.places = append(n.places, placedTerms{at, mask})
}

// Nearness returns the Nearness of a question in the collection, by the rarities of its terms there. It fails if an
// index is damaged. One goroutine at a time may use it.
func (s *Searcher) Nearness(question string) (*Nearness, error) {
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
