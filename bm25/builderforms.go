package bm25

import "strings"

// addWordsAndForms is addWords with the analysis Unicode: the other forms of the words are
// counted into the passage beside the terms, and not into the length.
func (b *Builder) addWordsAndForms(text string) (length uint32) {
	before := sightedTerm{stopWord, stopWord}
	eachWord(b.analyser.normalised(text), func(word string) {
		id, ok := b.surfaces[word]
		if !ok {
			id = b.learn(word)
		}
		if id == stopWord {
			return
		}
		term := sightedTerm{id &^ otherForms, stopWord}
		b.count(term.id)
		if id&otherForms != 0 {
			f := b.forms[word]
			term.plain = f.plain
			b.countAll(f)
		}
		if b.phrases != nil {
			b.phrases.add(term.id, length == 0)
			b.addOtherPhrases(before, term)
			before = term
		}
		length++
	}, func(compound string) {
		f, ok := b.forms[compound]
		if !ok {
			f = b.learnCompound(compound)
		}
		b.countAll(f)
	})
	return length
}

// sightedTerm is a term in a text, and the form without accents; stopWord: none.
type sightedTerm struct{ id, plain uint32 }

func (b *Builder) countAll(f *forms) {
	for _, id := range f.all {
		b.count(id)
	}
}

// addOtherPhrases adds the phrases of two terms that follow each other in which at least
// one is without the accents that it has.
func (b *Builder) addOtherPhrases(first, second sightedTerm) {
	if first.id == stopWord {
		return
	}
	passage := uint32(len(b.lengths))
	add := func(first, second uint32) {
		if first != stopWord && second != stopWord {
			b.phrases.other = append(b.phrases.other, otherPhrase{first, second, passage})
		}
	}
	add(first.plain, second.id)
	add(first.id, second.plain)
	add(first.plain, second.plain)
}

// formsOf are the other forms of a word whose term is known; nil: it has none.
func (b *Builder) formsOf(word, term string) *forms {
	plain, others := b.analyser.passageForms(word, term)
	if len(others) == 0 {
		return nil
	}
	f := &forms{plain: stopWord}
	if plain != "" {
		f.plain = b.number([]byte(formMark + plain))
	}
	for _, other := range others {
		f.all = append(f.all, b.number([]byte(formMark+other)))
	}
	return f
}

// learnCompound finds the other forms of a compound seen for the first time.
func (b *Builder) learnCompound(compound string) *forms {
	if len(b.surfaces)+len(b.forms) >= maxSurfaces {
		clear(b.surfaces)
		clear(b.forms)
	}
	f := &forms{plain: stopWord}
	for _, j := range b.analyser.compoundForms(compound) {
		f.all = append(f.all, b.number([]byte(formMark+j.form)))
	}
	b.forms[strings.Clone(compound)] = f // no word is a compound, too
	b.texts += int64(len(compound))
	return f
}
