package forms

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/languages"
)

// A Variant is terms of a question in other forms. If the best form of a passage adds more
// to the score than the terms themselves do, the passage gets the difference as well. So a
// passage with the terms as the question has them scores as without variants. A form has at
// most the share otherForm of the weight of the terms for which it stands.
type Variant struct {
	Of      []string // the terms, each once; none: of a name with its signs
	Count   int      // how often the question has them
	Entries []string // of the vocabulary: terms, other forms with their mark; two terms with a gap are a phrase
}

// Asked returns the entries of the vocabulary that a question asks for in addition to its terms and phrases (see
// Unicode): first those that stand for terms, then those that stand for phrases. It returns nil with the analysis
// Lucene.
func (analysis Analysis) Asked(question string) (entries []string) {
	entries = analysis.AskedWords(question)
	r := analysis.ReadingOf(question)
	r.CountTerms(true)
	phrases, _ := r.PhraseVariants(anyForm) // which is no error
	for _, v := range phrases {
		entries = append(entries, v.Entries...)
	}
	return entries
}

// AskedWords returns the entries of the vocabulary that a question asks for in addition to its terms: other forms of
// its words, without those for phrases. It returns nil with the analysis Lucene.
func (analysis Analysis) AskedWords(question string) (entries []string) {
	for _, v := range analysis.Variants(question) {
		entries = append(entries, v.Entries...)
	}
	return entries
}

// Boost returns the factor b with which a form of the variant has the weight b·idf in a question; idf is that of the
// form, and own is the sum of the idf of the variant's terms. b is the variant's count, times otherForm, times the
// number of its terms or, if that is less, own/idf. So a form weighs no more than the terms that it stands for. An
// engine that uses b has the weights of Searcher.
func (v *Variant) Boost(own, idf float32) float32 {
	boost := float32(v.Count) * otherForm
	if len(v.Of) == 0 {
		return boost
	}
	return boost * min(float32(len(v.Of)), own/idf)
}

// otherForm is the weight of another form as a share of that of the form that a question
// has: the form that people write finds first.
const otherForm float32 = 0.9

// longestRun bounds how many words of a question are joined where letters and digits
// alternate ("TA 729 AE 2").
const longestRun = 6

// CountedTerm is a distinct term, or phrase, of a question.
type CountedTerm struct {
	Text  string
	Count int // how often the question has it
}

// countDistinct returns the distinct terms with their counts, in the order of their texts. It sorts terms in place.
func countDistinct(terms []string) []CountedTerm {
	slices.Sort(terms)
	out := make([]CountedTerm, 0, len(terms))
	for i, text := range terms {
		if i > 0 && text == terms[i-1] {
			out[len(out)-1].Count++
		} else {
			out = append(out, CountedTerm{Text: text, Count: 1})
		}
	}
	return out
}

// CountTerms sets r.Distinct to the distinct terms of the question, or, if phrases is set, to its distinct phrases,
// with their counts, in the order of their texts. Call it once: it sorts the terms, and their order makes the
// phrases.
func (r *Reading) CountTerms(phrases bool) {
	if phrases {
		r.Distinct = countDistinct(PhrasesOf(r.terms))
		return
	}
	r.passOverFunctionWords()
	r.Distinct = countDistinct(r.terms)
}

// questionWord is a word of a question.
type questionWord struct {
	text, term string // term is "" of a stop word
	begin, end int
}

// Reading is an analysed question.
type Reading struct {
	Analyser  Analyser
	text      string // normalised
	words     []questionWord
	compounds []string      // none with the analysis Lucene
	terms     []string      // in order and with repetitions
	languages []string      // codes (Analysis.codes)
	Distinct  []CountedTerm // terms or phrases, in the order of their texts
}

// find returns the index of a term or phrase in r.Distinct; found is false if it is not there.
func (r *Reading) find(text string) (at int, found bool) {
	return slices.BinarySearchFunc(
		r.Distinct, text, func(t CountedTerm, text string) int { return strings.Compare(t.Text, text) },
	)
}

// ReadingOf returns an analysed question, without its distinct terms yet: call CountTerms(false) before Variants, or
// CountTerms(true) before PhraseVariants. With the analysis Lucene it has no words or compounds, so that no variants
// are found.
func (analysis Analysis) ReadingOf(question string) *Reading {
	r := &Reading{Analyser: NewAnalyser(analysis), languages: analysis.codes()}
	if !r.Analyser.Forms {
		r.terms = analysis.Terms(question)
		return r
	}
	r.text = r.Analyser.Normalised(question)
	r.words = make([]questionWord, 0, len(r.text)/6+1)
	r.terms = make([]string, 0, len(r.text)/6+1)
	for t := r.Analyser.WordsOf(r.text); ; {
		w, signed, compound := t.Next()
		if signed != "" {
			r.compounds = append(r.compounds, signed)
		}
		if compound != "" {
			r.compounds = append(r.compounds, compound)
		}
		if w == "" {
			break
		}
		q := questionWord{w, string(r.Analyser.Term(w)), t.end - len(w), t.end}
		r.words = append(r.words, q)
		if q.term != "" {
			r.terms = append(r.terms, q.term)
		}
	}
	return r
}

// passOverFunctionWords removes the terms of the function words of the question's language, unless all are such. In a
// collection of several languages passages keep them, since a word of one language may be a function word of another.
// It does nothing with an analysis of one language.
func (r *Reading) passOverFunctionWords() {
	if r.languages == nil {
		return
	}
	codes := slices.DeleteFunc(
		slices.Concat(r.languages, unspacedCodes), func(code string) bool { return code == unspaced },
	)
	code := languages.OfQuestion(r.text, codes)
	function := languages.FunctionWordsOf(code)
	if function == nil {
		return
	}
	isFunction := func(w questionWord) bool {
		return w.term == "" || function.Has(w.text) || languages.Opens(code, w.text)
	}
	if slices.ContainsFunc(r.words, func(w questionWord) bool { return !isFunction(w) }) {
		r.terms = r.terms[:0]
		for i := range r.words {
			w := &r.words[i]
			if isFunction(*w) {
				w.term = ""
			} else {
				r.terms = append(r.terms, w.term)
			}
		}
	}
}

// Variants returns the variants of a question's terms, in the order in which they come; nil with the analysis Lucene.
func (analysis Analysis) Variants(question string) []Variant {
	if !analysis.HasForms() {
		return nil
	}
	r := analysis.ReadingOf(question)
	r.CountTerms(false)
	out, _ := r.Variants(anyForm) // which is no error
	return out
}

// anyForm returns true: every term may be another form of passages' words. The error is always nil.
func anyForm(string) (bool, error) { return true, nil }

// Variants returns the variants of the question's terms, in the order in which they come. A word of ASCII letters has
// one only if isForm reports that its term is another form of passages' words. It fails if isForm does.
// CountTerms(false) must have been called.
func (r *Reading) Variants(isForm func(term string) (bool, error)) ([]Variant, error) {
	a := &r.Analyser
	list := variantList{reading: r}
	for _, w := range r.words {
		if w.term == "" {
			continue
		}
		if a.several == nil && onlyLetters(w.text) {
			if ok, err := isForm(w.term); err != nil {
				return nil, err
			} else if ok {
				list.add(list.place(w.term), w.term)
			}
			continue
		}
		at := list.place(w.term)
		list.add(at, w.term)
		plain := a.plainForm(w.text, w.term)
		for _, form := range append([]string{plain, a.joinedForm(w.text)}, a.stemsOf(w.text)...) {
			if form != "" && form != w.term {
				list.add(at, form)
			}
		}
		if phrase := a.phraseForm(w.text); phrase != "" {
			list.addEntry(at, phrase)
		}
	}
	join := func(form string, terms []string) {
		own := []string{}
		for _, w := range terms {
			if term := string(a.Term(w)); term != "" && !slices.Contains(own, term) {
				own = append(own, term)
			}
		}
		if _, asked := r.find(form); asked || form == "" {
			return // the question has it as a term
		}
		at := list.joined(form, own)
		list.all[at].Count++
		list.add(at, form)
	}
	for _, compound := range r.compounds {
		for _, j := range a.CompoundForms(compound) {
			if j.words == nil {
				at := len(list.all)
				list.all = append(list.all, Variant{Count: 1})
				list.addEntry(at, FormMark+j.Form)
				continue
			}
			join(j.Form, j.words)
		}
	}
	for from := range r.words {
		to := from + 1
		if to == len(r.words) || !r.mayBeOneWord(from) {
			continue
		}
		run := []string{r.words[from].text}
		spaced := false
		for ; to < len(r.words) && to-from < longestRun && r.mayBeOneWord(to-1); to++ {
			run = append(run, r.words[to].text)
			spaced = spaced || r.text[r.words[to-1].end:r.words[to].begin] == " "
			if spaced { // else it is a compound
				join(a.join(run), run)
			}
		}
	}
	return list.all, nil
}

// onlyLetters reports whether a word has only letters of ASCII. It has no other form, but may be the other form of a
// passage's word.
func onlyLetters(word string) bool {
	for i := 0; i < len(word); i++ {
		if c := word[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// variantList collects a question's variants: at most one for each term or phrase, one for each list
// of terms that are written as one word, and one for each name with its signs.
type variantList struct {
	reading *Reading
	all     []Variant
	places  []int          // plus one in all, of the variants of the question's terms; 0: none
	joins   map[string]int // places of those of several terms as one, by their forms and terms
}

// place returns the index in l.all of the variant of one of the question's terms or phrases, and adds it if needed.
func (l *variantList) place(term string) int {
	if l.places == nil {
		l.places = make([]int, len(l.reading.Distinct))
	}
	i, _ := l.reading.find(term)
	if l.places[i] == 0 {
		l.all = append(l.all, Variant{Of: []string{term}, Count: l.reading.Distinct[i].Count})
		l.places[i] = len(l.all)
	}
	return l.places[i] - 1
}

// joined returns the index in l.all of the variant for several terms that are written as one word with the term form.
// It adds the variant, without entries, if there is none.
func (l *variantList) joined(form string, terms []string) int {
	key := form + FormMark + strings.Join(terms, string(PhraseGap))
	at, ok := l.joins[key]
	if !ok {
		at = len(l.all)
		if l.joins == nil {
			l.joins = map[string]int{}
		}
		l.joins[key] = at
		l.all = append(l.all, Variant{Of: terms})
	}
	return at
}

// add adds a form to the variant at an index: as another form of passages' words, and as a term unless it is the
// variant's own.
func (l *variantList) add(at int, form string) {
	if v := &l.all[at]; len(v.Of) != 1 || v.Of[0] != form {
		l.addEntry(at, form)
	}
	l.addEntry(at, FormMark+form)
}

// addEntry adds an entry of the vocabulary to the variant at an index, unless the variant has it.
func (l *variantList) addEntry(at int, entry string) {
	if v := &l.all[at]; !slices.Contains(v.Entries, entry) {
		v.Entries = append(v.Entries, entry)
	}
}

// phraseForm returns the phrase that a word may stand for: the terms of its two parts with PhraseGap between them. A
// word has two parts at a mark, as wi-fi, or where letters and digits meet, as BC6613. It returns "" for other words,
// for decimal numbers, and if a part is a stop word.
func (a *Analyser) phraseForm(word string) string {
	word = a.withoutClitic(word)
	pieces, apostrophes := innerPieces(word)
	if apostrophes || isDecimal(word) {
		return ""
	}
	if len(pieces) == 1 {
		pieces = atDigits(pieces[0])
	}
	if len(pieces) != 2 {
		return ""
	}
	first := string(a.Term(pieces[0]))
	second := string(a.Term(pieces[1]))
	if first == "" || second == "" {
		return ""
	}
	return first + string(PhraseGap) + second
}

// atDigits returns the pieces of a word, cut where letters and digits meet; a word without such a place is one piece.
func atDigits(word string) (pieces []string) {
	from := 0
	last := rune(-1)
	for i, r := range word {
		if i > 0 && unicode.IsDigit(r) != unicode.IsDigit(last) && !unicode.IsMark(r) {
			pieces = append(pieces, word[from:i])
			from = i
		}
		last = r
	}
	return append(pieces, word[from:])
}

// mayBeOneWord reports whether words number at and at+1 of the question may be one word, as in Windows 11: one space or
// joining mark is between them, and a digit meets a letter. It is false if one is a stop word or a decimal number, such
// as 2.5.
func (r *Reading) mayBeOneWord(at int) bool {
	a, b := &r.words[at], &r.words[at+1]
	if onlyLetters(a.text) && onlyLetters(b.text) || a.term == "" || b.term == "" || b.begin < a.end {
		return false
	}
	if between := r.text[a.end:b.begin]; between != " " && !isJoint(between) {
		return false
	}
	if isDecimal(a.text) || isDecimal(b.text) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(a.text)
	first, _ := utf8.DecodeRuneInString(b.text)
	return unicode.IsDigit(last) && unicode.IsLetter(first) || unicode.IsLetter(last) && unicode.IsDigit(first)
}

// PhraseVariants returns the variants of a question's phrases: one term or both without the accents that they have in
// the question or in passages. isForm reports whether a term is another form of passages' words; PhraseVariants
// returns its error. It returns nil with the analysis Lucene. CountTerms(true) must have been called.
func (r *Reading) PhraseVariants(isForm func(term string) (bool, error)) ([]Variant, error) {
	if !r.Analyser.Forms {
		return nil, nil
	}
	list := variantList{reading: r}
	var before []string
	for _, w := range r.words {
		if w.term == "" {
			continue
		}
		entries := []string{w.term}
		if ok, err := isForm(w.term); err != nil {
			return nil, err
		} else if ok {
			entries = append(entries, FormMark+w.term)
		}
		if plain := r.Analyser.plainForm(w.text, w.term); plain != "" {
			entries = append(entries, plain, FormMark+plain)
		}
		if len(before) > 1 || before != nil && len(entries) > 1 {
			phrase := before[0] + string(PhraseGap) + w.term
			at := list.place(phrase)
			for i, first := range before {
				for j, second := range entries {
					if i+j > 0 {
						list.addEntry(at, first+string(PhraseGap)+second)
					}
				}
			}
		}
		before = entries
	}
	return list.all, nil
}

// PhraseGap separates the two terms of a phrase. No term holds it: it ends words.
const PhraseGap = ' '

// PhrasesOf returns the phrases of terms, in order and with repetitions; nil if there are fewer than two terms.
func PhrasesOf(terms []string) []string {
	var out []string
	for i := 1; i < len(terms); i++ {
		out = append(out, terms[i-1]+string(PhraseGap)+terms[i])
	}
	return out
}
