package bm25

import (
	"strings"

	"example.org/conclave/bm25/forms"
)

// sighting is a word with other forms, or a compound.
type sighting struct {
	term     uint32 // stopWord of a compound
	plain    uint32 // the form without accents; stopWord: it has none
	from, to uint32 // all other forms: places in Builder.otherIDs
}

// addWordsAndForms counts a text's terms and other forms into the passage being added, for the analysis Unicode, and
// returns how many terms there are, without the other forms. If phrases are indexed, it also keeps the terms' order.
func (b *Builder) addWordsAndForms(text string) (length uint32) {
	before := sighting{term: stopWord}
	for words := b.analyser.WordsOf(b.analyser.Normalised(text)); ; {
		word, signed, compound := words.Next()
		if signed != "" {
			b.countCompound(signed)
		}
		if compound != "" {
			b.countCompound(compound)
		}
		if word == "" {
			return length
		}
		id, ok := b.surfaces[word]
		if !ok {
			id = b.learn(word)
		}
		if id == stopWord {
			continue
		}
		w := sighting{term: id, plain: stopWord}
		if id&otherForms != 0 {
			w = b.sightings[id&^otherForms]
			b.countForms(w)
		}
		b.count(w.term)
		if b.phrases != nil {
			b.phrases.add(w.term, length == 0)
			if before.term != stopWord {
				b.addOtherPhrases(before, w)
			}
			before = w
		}
		length++
	}
}

// countForms counts the other forms of a word into the passage being added.
func (b *Builder) countForms(w sighting) {
	for _, id := range b.otherIDs[w.from:w.to] {
		b.count(id)
	}
}

// countCompound counts the other forms of a compound, such as wi-fi, into the passage being added.
func (b *Builder) countCompound(compound string) {
	place, ok := b.compounds[compound]
	if !ok {
		place = b.learnCompound(compound)
	}
	b.countForms(b.sightings[place])
}

// addOtherPhrases adds the phrases of two adjacent words in which at least one is without its accents. It does nothing
// if neither has any.
func (b *Builder) addOtherPhrases(first, second sighting) {
	if first.plain == stopWord && second.plain == stopWord {
		return
	}
	passage := uint32(len(b.lengths))
	add := func(first, second uint32) {
		if first != stopWord && second != stopWord {
			b.phrases.other = append(b.phrases.other, otherPhrase{first, second, passage})
		}
	}
	add(first.plain, second.term)
	add(first.term, second.plain)
	add(first.plain, second.plain)
}

// withForms returns the entry in b.surfaces of a word whose term has a number: that number, or, if the word has other
// forms, otherForms and its place in sightings.
func (b *Builder) withForms(word string, term uint32) uint32 {
	plain, others := b.analyser.PassageForms(word, b.terms[term].text)
	if len(others) == 0 {
		return term
	}
	w := sighting{term, stopWord, uint32(len(b.otherIDs)), 0}
	if plain != "" {
		w.plain = b.number([]byte(forms.FormMark + plain))
	}
	for _, other := range others {
		b.otherIDs = append(b.otherIDs, b.number([]byte(forms.FormMark+other)))
	}
	return b.addSighting(w) | otherForms
}

// addSighting appends a word to b.sightings and returns its place. Its other forms must be the last of b.otherIDs, from
// w.from on.
func (b *Builder) addSighting(w sighting) uint32 {
	w.to = uint32(len(b.otherIDs))
	b.sightings = append(b.sightings, w)
	return uint32(len(b.sightings) - 1)
}

// learnCompound finds the other forms of a compound that is not in b.compounds, and returns its place in sightings.
func (b *Builder) learnCompound(compound string) uint32 {
	b.forgetSurfaces(maxSurfaces)
	w := sighting{stopWord, stopWord, uint32(len(b.otherIDs)), 0}
	for _, j := range b.analyser.CompoundForms(compound) {
		b.otherIDs = append(b.otherIDs, b.number([]byte(forms.FormMark+j.Form)))
	}
	place := b.addSighting(w)
	b.compounds[strings.Clone(compound)] = place
	b.texts += int64(len(compound))
	return place
}

// forgetSurfaces empties the caches of analysed words and compounds if they have many entries or more.
func (b *Builder) forgetSurfaces(many int) {
	if len(b.surfaces)+len(b.compounds) >= many {
		clear(b.surfaces)
		clear(b.compounds)
		b.sightings, b.otherIDs = b.sightings[:0], b.otherIDs[:0]
	}
}
