package bm25

import (
	"strings"

	"example.org/conclave/bm25/forms"
)

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
// the place of its first word. It returns the place after its last; stop words take none. It remembers chunks that it
// has read.
func (n *Nearness) placeChunk(chunk []byte, at int) int {
	read, ok := n.chunks[string(chunk)]
	if !ok {
		text := string(chunk)
		read = n.readChunk(text)
		n.chunks[text] = read
	}
	for _, p := range read.places {
		if p.form {
			n.placeTerms(max(at+p.offset, 0), p.entry.mask)
		} else {
			n.place(at+p.offset, p.entry)
		}
	}
	return at + read.words
}

// nearChunk is what a chunk of text, between white space, means to a question.
type nearChunk struct {
	words  int // places that it takes
	places []chunkPlace
}

// chunkPlace is what one place in a chunk stands for.
type chunkPlace struct {
	offset int // from the chunk's first place; -1 is the one before
	entry  nearEntry
	form   bool // by another form of its word
}

// readChunk returns what a chunk means to the question.
func (n *Nearness) readChunk(chunk string) (read nearChunk) {
	text := n.analyser.Normalised(chunk)
	may := n.mayStandFor(text)
	addForm := func(offset int, form string) {
		if mask := n.entries[forms.FormMark+form]; mask != 0 {
			read.places = append(read.places, chunkPlace{offset, nearEntry{mask: mask}, true})
		}
	}
	for words := n.analyser.WordsOf(text); ; {
		word, signed, compound := words.Next()
		for _, c := range [...]string{signed, compound} {
			if c == "" || !may || !n.analyser.Forms {
				continue
			}
			for _, j := range n.analyser.CompoundForms(c) {
				addForm(read.words-1, j.Form) // at its last term, or that before it
			}
		}
		if word == "" {
			return read
		}
		if !n.mayStandFor(word) {
			if !n.isStopWord(word) {
				read.words++
			}
			continue
		}
		term := string(n.analyser.Term(word))
		if term == "" {
			continue
		}
		if e := n.entryOf(term); e.mask != 0 || e.part != "" {
			read.places = append(read.places, chunkPlace{read.words, e, false})
		}
		if n.analyser.Forms {
			_, others := n.analyser.PassageForms(word, term)
			for _, form := range others {
				addForm(read.words, form)
			}
		}
		read.words++
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
