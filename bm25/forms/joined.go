package forms

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/bm25/internal/words"
)

// A passage has a word in one form, and people ask for it in another: José and Jose, wi-fi
// and wifi, BC.6613-18 and BC661318. With the analysis Unicode a passage is indexed under the
// terms of its text and also under the other forms of its words. Other forms are not terms:
// they do not count in lengths, have document frequencies of their own, and a question looks
// them up for passages that its own terms do not find (see Variant). So texts in ASCII have
// the scores that they have with the analysis Lucene, except where a passage has a word of the
// question in another form, and in that form more often than as it is written.
//
// The other forms of a passage's words are
//
//   - the word without accents, if it has some;
//   - joined: words with one mark between them and no space (wi-fi, BC.6613-18, and/or),
//     and words that are one to the word rules and have marks inside (node.js, O'Neill,
//     snake_case), without the marks. A slash joins less than other marks: x-y/z has
//     xy and xyz. A number with a decimal point stays one;
//   - the parts, of two characters at least, of what is one word to the word rules and has
//     marks inside other than apostrophes;
//   - a name with the signs that belong to it: C++, C#, .NET. Without them it is a term as
//     ever.
//
// This is what Lucene's WordDelimiterGraphFilter and ASCIIFoldingFilter are for; they are
// not used, since they put every form into lengths and frequencies.

// FormMark begins the text of another form in the vocabulary. No term holds it: it is in
// no word.
const FormMark = "~"

// AfterForms is above all other forms in the order of bytes.
const AfterForms = "\x7f"

// IsForm reports whether an entry of the vocabulary is another form of passages' words (see Unicode) and not a term.
func IsForm(entry string) bool { return strings.HasPrefix(entry, FormMark) }

const (
	// mostParts and longestCompound bound what is joined: what is longer is an address,
	// or text that has lost its spaces.
	mostParts       = 8
	longestCompound = 64 // bytes
)

// joinsWords reports whether a mark between two words, such as - or /, makes them a compound.
func joinsWords(r rune) bool {
	switch r {
	case '-',
		'\u2010',
		'\u2012',
		'\u2013',
		'\u2212',
		'.',
		'/',
		'_',
		'\'',
		'\u2019',
		'&',
		'+',
		':',
		'\u00b7',
		'\\',
		'@',
		'*':
		return true
	}
	return false
}

// TextWords visits the words of a text, in order, and its compounds: stretches of several
// words with a joining mark between them, and names with their signs.
type TextWords struct {
	text              string
	scanner           words.GramScanner
	begin, end, parts int // of the stretch
}

// WordsOf returns an iterator over the words of a normalised text.
func (a *Analyser) WordsOf(text string) TextWords {
	return TextWords{text: text, scanner: a.scan(text)}
}

// Next returns the next word; "" after the last. signed and compound are the compounds that ended before this word: a
// name with its signs, such as C++, and words with marks between them, such as wi-fi; "" if there is none. The call
// that returns no word may still return these.
func (t *TextWords) Next() (word, signed, compound string) {
	word = t.scanner.Next()
	to := t.scanner.At()
	from := to - len(word)
	gram := t.scanner.Gram() != words.NoGram // a part of a stretch, which joins nothing
	if word != "" && t.parts > 0 && !gram && isJoint(t.text[t.end:from]) {
		t.end = to
		t.parts++
		return word, "", ""
	}
	if t.parts > 0 {
		if t.maySign() {
			if from, to := withSigns(t.text, t.begin, t.end); from < t.begin || to > t.end {
				signed = t.text[from:to]
			}
		}
		if t.parts > 1 && t.parts <= mostParts && t.end-t.begin <= longestCompound {
			compound = t.text[t.begin:t.end]
		}
	}
	t.begin, t.end, t.parts = from, to, 1
	if gram {
		t.parts = 0
	}
	return word, signed, compound
}

// maySign reports whether a sign that can belong to a name stands right before or after the stretch.
func (t *TextWords) maySign() bool {
	return t.begin > 0 && t.text[t.begin-1] == '.' || t.end < len(t.text) && (t.text[t.end] == '+' || t.text[t.end] == '#')
}

// isJoint reports whether between, the text between two words, is a single joining mark other than a space.
func isJoint(between string) bool {
	switch {
	case len(between) == 1:
		return between[0] != ' ' && joinsWords(rune(between[0]))
	case between == "" || between[0] < utf8.RuneSelf:
		return false
	}
	r, size := utf8.DecodeRuneInString(between)
	return size == len(between) && joinsWords(r)
}

// withSigns returns the bounds of a word with the signs that belong to it as a name: up to two of + and # after it, and
// a full stop before it. Without such signs these are begin and end.
func withSigns(text string, begin, end int) (from, to int) {
	from, to = begin, end
	if begin == end || end-begin > longestCompound || !isLetter(text[begin:]) {
		return from, to
	}
	for to < len(text) && (text[to] == '+' || text[to] == '#') {
		to++
	}
	if to-end > 2 || to < len(text) && isWordPart(text[to:]) {
		to = end
	}
	if from > 0 && text[from-1] == '.' &&
		(from == 1 || text[from-2] == ' ' || text[from-2] == '(' || text[from-2] == '\n' || text[from-2] == '\t') {
		from--
	}
	return from, to
}

// isLetter reports whether a text begins with a letter.
func isLetter(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r)
}

// isWordPart reports whether a text begins with a letter, a digit or an underscore.
func isWordPart(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
}

// form removes the accents of a word and returns the term of the result; "" if that is empty or a stop word.
func (a *Analyser) form(word string) string {
	if a.several != nil {
		return unaccented(string(appendFolded(nil, a.withoutClitic(word))))
	}
	if a.language != nil {
		return a.language.termOf(unaccented(string(appendFolded(nil, word))))
	}
	word = withoutPossessive(word)
	a.lower = append(a.lower[:0], unaccented(string(appendFolded(nil, word)))...)
	if len(a.lower) == 0 || isStopWord(a.lower) {
		return ""
	}
	a.stem()
	return string(a.lower)
}

// plainForm returns the term of a word without its accents, if that differs from its term; else "".
func (a *Analyser) plainForm(word, term string) string {
	for i := 0; i < len(word); i++ {
		if word[i] >= utf8.RuneSelf {
			if f := a.form(word); f != term {
				return f
			}
			break
		}
	}
	return ""
}

// PassageForms returns all other forms of a passage's word, each once, and the one of them without accents; plain is ""
// if there is none. term is the word's term.
func (a *Analyser) PassageForms(word, term string) (plain string, all []string) {
	if onlyAlphanumeric(word) && a.several == nil {
		return "", nil
	}
	plain = a.plainForm(word, term)
	for _, form := range slices.Concat([]string{plain, a.joinedForm(word)}, a.partForms(word), a.stemsOf(word)) {
		if form != "" && form != term && !slices.Contains(all, form) {
			all = append(all, form)
		}
	}
	return plain, all
}

// joinedForm returns the term of a word without the marks inside it; "" if it has none, or is a number with a decimal
// point.
func (a *Analyser) joinedForm(word string) string {
	word = a.withoutClitic(word)
	if pieces, _ := innerPieces(word); len(pieces) > 1 && !isDecimal(word) {
		return a.form(strings.Join(pieces, ""))
	}
	return ""
}

// partForms returns the terms of the parts, of two characters at least, of a word with marks inside; nil if it has none
// or they are apostrophes. An element is "" if the part is a stop word.
func (a *Analyser) partForms(word string) (forms []string) {
	word = a.withoutClitic(word)
	pieces, apostrophes := innerPieces(word)
	if len(pieces) < 2 || apostrophes || !hasLetter(word) {
		return nil
	}
	for _, p := range pieces {
		if utf8.RuneCountInString(p) > 1 {
			forms = append(forms, a.form(p))
		}
	}
	return forms
}

// JoinedForm is the other form of a compound: the term of its words written as one, or a name with its signs.
type JoinedForm struct {
	Form  string
	words []string // of the compound; nil for a name with its signs
}

// CompoundForms returns the other forms of a compound that TextWords.Next returned, each with the parts that it
// joins: for a name with signs itself, for words with marks those between slashes joined, and all joined. It is nil
// if there are none, as for decimal numbers.
func (a *Analyser) CompoundForms(compound string) (forms []JoinedForm) {
	scanner := words.Of(compound)
	var parts []string
	slashes := []int{0}
	end := 0 // which parts have a slash before them; where the last ends
	for w := scanner.Next(); w != ""; w = scanner.Next() {
		if from := scanner.At() - len(w); len(parts) > 0 && compound[from-1] == '/' {
			slashes = append(slashes, len(parts))
		}
		end = scanner.At()
		parts = append(parts, w)
	}
	if end < len(compound) || strings.HasPrefix(compound, ".") { // signs
		return []JoinedForm{{unaccented(string(appendFolded(nil, compound))), nil}}
	}
	if slices.ContainsFunc(parts, isDecimal) {
		return nil
	}
	join := func(parts []string) {
		if form := a.join(parts); form != "" {
			forms = append(forms, JoinedForm{form, parts})
		}
	}
	for i, from := range slashes {
		to := len(parts)
		if i+1 < len(slashes) {
			to = slashes[i+1]
		}
		join(parts[from:to])
	}
	if len(slashes) > 1 {
		join(parts)
	}
	return forms
}

// join returns the term of several words written as one, without the marks inside them and without accents; "" for
// fewer than two, or if the result is a stop word.
func (a *Analyser) join(words []string) string {
	if len(words) < 2 {
		return ""
	}
	one := ""
	for i, w := range words {
		if i == len(words)-1 {
			w = a.withoutClitic(w)
		}
		pieces, _ := innerPieces(w)
		one += strings.Join(pieces, "")
	}
	return a.form(one)
}

// innerPieces returns the pieces of a word between marks that are neither letters, numbers, accents nor symbols, and
// whether one of these marks is an apostrophe. A word without such marks is one piece.
func innerPieces(word string) (pieces []string, apostrophes bool) {
	pieces = strings.FieldsFunc(word, func(r rune) bool {
		if r < utf8.RuneSelf && ('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') ||
			unicode.IsLetter(r) ||
			unicode.IsNumber(r) ||
			unicode.IsMark(r) ||
			unicode.IsSymbol(r) {
			return false
		}
		apostrophes = apostrophes || r == '\'' || r == '\u2019'
		return true
	})
	return pieces, apostrophes
}

// onlyAlphanumeric reports whether a word has only letters and digits of ASCII. In a passage such a word has no other
// form.
func onlyAlphanumeric(word string) bool {
	for i := 0; i < len(word); i++ {
		if c := word[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// hasLetter reports whether a word has a letter of any script.
func hasLetter(word string) bool { return strings.ContainsFunc(word, unicode.IsLetter) }

// isDecimal reports whether a word is digits, a full stop and digits.
func isDecimal(word string) bool {
	whole, part, found := strings.Cut(word, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return found && digits(whole) && digits(part)
}
