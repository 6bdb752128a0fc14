package search

import (
	"context"
	"slices"
	"strings"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/naming"
)

// misnaming says what a question names and the passages that an answer rests on do not: these may be about something
// else of the same kind.
type misnaming struct {
	name    string // as the question has it
	rival   string // what the first passage has in its place; "": nothing
	nowhere bool   // no passage has it
}

// note returns what people are told.
func (m *misnaming) note() string {
	where := "the first passage does not have "
	if m.nowhere {
		where = "no passage has "
	}
	note := where + wording.Quote(m.name) + ", which the question names"
	switch {
	case m.rival == "":
		return note
	case m.nowhere:
		return note + "; nearest: " + wording.Quote(m.rival)
	}
	return note + "; it has " + wording.Quote(m.rival)
}

// findMisnaming returns the first thing that the question names by a rare word, and that neither the first passage,
// with its titles, headings and document, nor the passage of the first marked words has in any form. nil: there is
// none, or words took no part in the search.
func (a *answer) findMisnaming(ctx context.Context, first []fusion.Item) (*misnaming, error) {
	at := slices.IndexFunc(a.findings, func(f finding) bool { return f.status == StatusOK && f.keys != nil })
	if at < 0 || len(first) == 0 || len(naming.Mentions(a.question, naming.Language{Capitals: true})) == 0 {
		return nil, nil
	}
	_, passages, err := a.texts(ctx, first[:min(len(first), comparedNames)])
	if err != nil || len(passages) == 0 {
		return nil, err
	}
	text := naming.Read(a.restsOn(&passages[0]))
	for _, m := range naming.Mentions(a.question, a.contentWords.namesIn(ctx, a.view, a.question)) {
		found := text.Find(m)
		if len(found.Missing) == 0 {
			continue
		}
		rare, nowhere := a.findings[at].keys.rarest(found.Missing)
		wrong := rare
		switch m.Kind {
		case naming.Number, naming.Date:
			wrong = found.Rival != ""
		case naming.Code: // it may be an everyday word for what the passage says in others, as CO2
			wrong = rare && (!nowhere || m.Identifies() || found.Rival != "")
		case naming.Name:
			ownName := found.Rival != "" && a.isUnusual(found.Missing)
			wrong = rare && (found.Beside || ownName || namesAnother(passages, m))
		}
		if wrong {
			return &misnaming{m.Text(), found.Rival, nowhere}, nil
		}
	}
	return nil, nil
}

// isUnusual reports whether the encoder's vocabulary lacks one of these words, as it does the names of most companies,
// products and people, and not those of countries, peoples and months. It is false where no encoder reads the question.
func (p *pass) isUnusual(words []string) bool {
	if p.generalist == nil {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		all, whole, _ := p.generalist.Encoder.KnownWords(word)
		return whole < all
	})
}

// comparedNames is how many of the first passages are looked at to tell whose name a question has.
const comparedNames = 10

// namesAnother reports whether a name that the first passage does not have is that of another subject of the
// collection: one of the passages behind it has the name, and in a heading where it is of the same document. A
// document that has the name elsewhere is about it.
func namesAnother(passages []corpus.Passage, m naming.Mention) bool {
	first := PlaceOf(&passages[0])
	another := false
	for i := range passages[1:] {
		p := &passages[i+1]
		at := PlaceOf(p)
		titled := len(naming.Read(p.Title+". "+at.Heading).Find(m).Missing) == 0
		has := titled || len(naming.Read(p.Text).Find(m).Missing) == 0
		same := first.Document != nil && at.Document != nil && first.Document.ID == at.Document.ID
		if has && same && !titled {
			return false
		}
		another = another || titled || has && i+1 < untitledNames
	}
	return another
}

// untitledNames is among how many of the first passages one counts that has a name in its text alone.
const untitledNames = 5

// restsOn returns the text of the first passage with its titles, headings and document, and of the passage of the first
// marked words where that is another one.
func (a *answer) restsOn(first *corpus.Passage) string {
	parts := []string{first.Title, first.Text}
	if at := PlaceOf(first); at.Document != nil {
		parts = append(parts, at.Heading, at.Document.Title, at.Document.ID, at.Document.Source)
	}
	if len(a.extracts) > 0 && a.extracts[0].Passage != first.ID {
		for _, p := range a.read {
			if p.ID == a.extracts[0].Passage {
				parts = append(parts, p.Title, p.Text)
			}
		}
	}
	return strings.Join(parts, ". ")
}

// rarest reports whether one of these words of the question is rare enough to say which passage is meant, and whether
// one of them stands in no passage.
func (k *keys) rarest(words []string) (rare, nowhere bool) {
	for _, x := range k.list {
		if x.Pair || !slices.ContainsFunc(words, func(word string) bool { return naming.Bare(x.Text) == word }) {
			continue
		}
		rare = rare || x.Rarity >= commonWord
		nowhere = nowhere || x.nowhere
	}
	return rare, nowhere
}
