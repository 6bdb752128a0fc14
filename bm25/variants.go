package bm25

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"conclave/bm25/internal/words"
)

// A Variant is terms of a question in other forms. A passage that has one of these gets,
// beside what the terms add to its score, by how much the best of the forms is above what
// they add; so a passage with the terms as the question has them scores as without
// variants. A form has at most the share otherForm of the weight of the terms for which it
// stands.
type Variant struct {
	Of      []string // the terms, each once; none: of a name with its signs
	Count   int      // how often the question has them
	Entries []string // of the vocabulary: terms, other forms with their mark; two terms with a gap are a phrase
}

// Asked are the entries of the vocabulary that a question is looked up by beside its
// terms (see Unicode), in the order in which they come; none with the analysis Lucene.
func (analysis Analysis) Asked(question string) (entries []string) {
	entries = analysis.askedWords(question)
	for _, v := range analysis.phraseVariants(question) {
		entries = append(entries, v.Entries...)
	}
	return entries
}

// askedWords are those of Asked that stand for terms, and not for phrases.
func (analysis Analysis) askedWords(question string) (entries []string) {
	for _, v := range analysis.Variants(question) {
		entries = append(entries, v.Entries...)
	}
	return entries
}

// Boost is what the rarity of a form, idf, is multiplied with for its weight: how often the
// question has the terms, the share otherForm, and how many terms the form stands for, or
// less where these are together commoner: a form finds no more than the question's own.
// own is the sum of the rarities of the terms. Another engine that multiplies rarities
// with it has the weights of Searcher.
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

// questionWord is a word of a question.
type questionWord struct {
	text, term string // term is "" of a stop word
	begin, end int
}

// Variants are those of a question's terms, in the order in which they come.
func (analysis Analysis) Variants(question string) []Variant {
	if analysis != Unicode {
		return nil
	}
	a := analyser{unicode: true}
	text := a.normalised(question)
	list := variantList{known: map[string]int{}}
	var all []questionWord
	for scanner := words.Of(text); ; {
		w := scanner.Next()
		if w == "" {
			break
		}
		q := questionWord{w, string(a.term(w)), scanner.At() - len(w), scanner.At()}
		all = append(all, q)
		if q.term == "" {
			continue
		}
		list.add(list.of(1, q.term), q.term)
		if onlyLetters(w) {
			continue
		}
		plain := a.plainForm(w, q.term)
		for _, form := range []string{plain, a.joinedForm(w)} {
			if form != "" && form != q.term {
				list.add(list.of(0, q.term), form)
			}
		}
		if phrase := a.phraseForm(w); phrase != "" {
			list.addEntry(list.of(0, q.term), phrase)
		}
	}
	terms := len(list.all)
	join := func(form string, of []string) {
		own := []string{}
		for _, w := range of {
			if term := string(a.term(w)); term != "" && !slices.Contains(own, term) {
				own = append(own, term)
			}
		}
		if _, asked := list.known[form]; form == "" || asked && list.known[form] < terms {
			return // the question has it as a term
		}
		at := list.joined(form, own)
		list.all[at].Count++
		list.add(at, form)
	}
	eachWord(text, func(string) {}, func(compound string) {
		for _, j := range a.compoundForms(compound) {
			if j.words == nil {
				at := len(list.all)
				list.all = append(list.all, Variant{Count: 1})
				list.addEntry(at, formMark+j.form)
				continue
			}
			join(j.form, j.words)
		}
	})
	for from := range all {
		run, spaced := []string{all[from].text}, false
		for to := from + 1; to < len(all) && to-from < longestRun && alternates(text, all[to-1], all[to]); to++ {
			run, spaced = append(run, all[to].text), spaced || text[all[to-1].end:all[to].begin] == " "
			if spaced { // else it is a compound
				join(a.join(run), run)
			}
		}
	}
	return list.all
}

// onlyLetters reports whether a word is of letters of ASCII alone: it has no form but its
// own, and others have it.
func onlyLetters(word string) bool {
	for i := 0; i < len(word); i++ {
		if c := word[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// variantList is a question's variants, of which each has other terms.
type variantList struct {
	all   []Variant
	known map[string]int // by their terms with gaps: places in all
}

// of is the place of the variant of some terms, which the question has so many times
// more.
func (l *variantList) of(more int, terms ...string) int {
	key := strings.Join(terms, string(phraseGap))
	at, ok := l.known[key]
	if !ok {
		at = len(l.all)
		l.known[key] = at
		l.all = append(l.all, Variant{Of: terms})
	}
	l.all[at].Count += more
	return at
}

// joined is the place of the variant of some terms as one.
func (l *variantList) joined(form string, terms []string) int {
	key := form + formMark + strings.Join(terms, string(phraseGap))
	at, ok := l.known[key]
	if !ok {
		at = len(l.all)
		l.known[key] = at
		l.all = append(l.all, Variant{Of: terms})
	}
	return at
}

// add adds a form: as a term of passages, where it is not the variant's own, and as
// another form of their words.
func (l *variantList) add(at int, form string) {
	if v := &l.all[at]; len(v.Of) != 1 || v.Of[0] != form {
		l.addEntry(at, form)
	}
	l.addEntry(at, formMark+form)
}

func (l *variantList) addEntry(at int, entry string) {
	if v := &l.all[at]; !slices.Contains(v.Entries, entry) {
		v.Entries = append(v.Entries, entry)
	}
}

// phraseForm is the phrase that a word is the joined form of: two parts, of which one is of
// letters and one of digits, or with a mark between them; "": none.
func (a *analyser) phraseForm(word string) string {
	word = withoutPossessive(word)
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
	first := string(a.term(pieces[0]))
	second := string(a.term(pieces[1]))
	if first == "" || second == "" {
		return ""
	}
	return first + string(phraseGap) + second
}

// atDigits divides a word where letters and digits meet.
func atDigits(word string) (pieces []string) {
	from, last := 0, rune(-1)
	for i, r := range word {
		if i > 0 && unicode.IsDigit(r) != unicode.IsDigit(last) && !unicode.IsMark(r) {
			pieces = append(pieces, word[from:i])
			from = i
		}
		last = r
	}
	return append(pieces, word[from:])
}

// alternates reports whether two words of a question follow each other behind one space,
// or a joining mark, and one ends with a digit where the other begins with a letter or the
// other way round. They are then as likely one word (Windows 11, BC 6613).
func alternates(text string, a, b questionWord) bool {
	if between := text[a.end:b.begin]; between != " " && !isJoint(between) {
		return false
	}
	if a.term == "" || b.term == "" || isDecimal(a.text) || isDecimal(b.text) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(a.text)
	first, _ := utf8.DecodeRuneInString(b.text)
	return unicode.IsDigit(last) && unicode.IsLetter(first) || unicode.IsLetter(last) && unicode.IsDigit(first)
}

// phraseVariants are those of a question's phrases: each with one term or both without
// the accents that they have, in the question or in passages.
func (analysis Analysis) phraseVariants(question string) []Variant {
	if analysis != Unicode {
		return nil
	}
	a := analyser{unicode: true}
	list := variantList{known: map[string]int{}}
	var before []string
	for scanner := words.Of(a.normalised(question)); ; {
		w := scanner.Next()
		if w == "" {
			break
		}
		term := string(a.term(w))
		if term == "" {
			continue
		}
		entries := []string{term, formMark + term}
		if plain := a.plainForm(w, term); plain != "" {
			entries = append(entries, plain, formMark+plain)
		}
		if before != nil {
			phrase := before[0] + string(phraseGap) + term
			at := list.of(1, phrase)
			for i, first := range before {
				for j, second := range entries {
					if i+j > 0 {
						list.addEntry(at, first+string(phraseGap)+second)
					}
				}
			}
		}
		before = entries
	}
	return list.all
}
