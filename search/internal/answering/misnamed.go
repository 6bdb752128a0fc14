package answering

import (
	"context"
	"slices"
	"strings"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/answering/naming"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// misnaming is a name in the question that the passages behind the answer lack: they may be about something else of
// the same kind.
type misnaming struct {
	name    string // as the question has it
	rival   string // what the first passage has instead (naming.Found); "": nothing
	nowhere bool   // no passage of the collection has it
}

// note returns a sentence for users that says which name is missing, and what the passage has instead.
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

// namesIn returns how to recognise names in the question's language. Capital letters do not mark names in German and
// Luxembourgish, where all nouns have one.
func (a *Answer) namesIn(ctx context.Context) naming.Language {
	code, function := a.Rules.Words.LanguageOf(ctx, a.Found.View, a.Found.Inquiry.Question)
	in := naming.Language{Capitals: code != "de" && code != "lb"}
	if function != nil {
		in.IsFunction = function.Has
	}
	return in
}

// findMisnaming returns the first name in the question that the passages behind the answer (restsOn) lack in every
// form, and that counts as another name than theirs:
//
//  1. a number or a date, if the text has a rival;
//  2. a code that is rare in the collection, if some passage has it, it identifies one thing, or the text has a rival;
//  3. another name that is rare, if its rival stands beside a word that both share, if there is a rival and a missing
//     word is unusual (sources.Findings.IsUnusual), or if later passages are about it (namesAnother).
//
// first is the ranking. It returns nil if there is no such name, the ranking is empty, or BM25 over words did not
// answer. It fails if passages cannot be read.
func (a *Answer) findMisnaming(ctx context.Context, first []fusion.Item) (*misnaming, error) {
	at := slices.IndexFunc(
		a.Findings, func(f sources.Finding) bool { return f.Status == reply.StatusOK && f.Keys != nil },
	)
	if at < 0 || len(first) == 0 ||
		len(naming.Mentions(a.Found.Inquiry.Question, naming.Language{Capitals: true})) == 0 {
		return nil, nil
	}
	_, passages, err := a.Texts(ctx, first[:min(len(first), comparedNames)])
	if err != nil || len(passages) == 0 {
		return nil, err
	}
	text := naming.NewText(a.restsOn(&passages[0]))
	for _, m := range naming.Mentions(a.Found.Inquiry.Question, a.namesIn(ctx)) {
		found := text.Find(m)
		if len(found.Missing) == 0 {
			continue
		}
		rare, nowhere := rarityOf(a.Findings[at].Keys, found.Missing)
		wrong := rare
		switch m.Kind {
		case naming.Number, naming.Date:
			wrong = found.Rival != ""
		case naming.Code: // it may be an everyday word for what the passage says in others, as CO2
			wrong = rare && (!nowhere || m.Identifies() || found.Rival != "")
		case naming.Name:
			ownName := found.Rival != "" && a.Found.IsUnusual(found.Missing)
			wrong = rare && (found.Beside || ownName || namesAnother(passages, m))
		}
		if wrong {
			return &misnaming{m.Text(), found.Rival, nowhere}, nil
		}
	}
	return nil, nil
}

// comparedNames is the number of first passages that namesAnother compares.
const comparedNames = 10

// namesAnother reports whether a name that the first passage lacks belongs to another subject: a later passage has it
// in its title or heading, or one of the first untitledNames has it in its text. It is false if another passage of the
// first one's document has the name in its text only: then that document is about the name.
func namesAnother(passages []corpus.Passage, m naming.Mention) bool {
	first := reply.PlaceOf(&passages[0])
	another := false
	for i := range passages[1:] {
		p := &passages[i+1]
		at := reply.PlaceOf(p)
		titled := len(naming.NewText(p.Title+". "+at.Heading).Find(m).Missing) == 0
		has := titled || len(naming.NewText(p.Text).Find(m).Missing) == 0
		same := first.Document != nil && at.Document != nil && first.Document.ID == at.Document.ID
		if has && same && !titled {
			return false
		}
		another = another || titled || has && i+1 < untitledNames
	}
	return another
}

// untitledNames is the number of first passages in which namesAnother counts a name that is only in the text.
const untitledNames = 5

// restsOn returns the text in which the names of the question are looked for: the first passage with its title, heading
// and document and, if the first extract is from another passage, that one's title and text.
func (a *Answer) restsOn(first *corpus.Passage) string {
	parts := []string{first.Title, first.Text}
	if at := reply.PlaceOf(first); at.Document != nil {
		parts = append(parts, at.Heading, at.Document.Title, at.Document.ID, at.Document.Source)
	}
	if len(a.Extracts) > 0 && a.Extracts[0].Passage != first.ID {
		for _, p := range a.read {
			if p.ID == a.Extracts[0].Passage {
				parts = append(parts, p.Title, p.Text)
			}
		}
	}
	return strings.Join(parts, ". ")
}

// rarityOf reports whether one of the given words is rare in the collection (commonWord or more), and whether one is in
// no passage (nowhere). Words that are not among the question's keys k do not count.
func rarityOf(k *sources.Keys, words []string) (rare, nowhere bool) {
	for _, x := range k.List {
		if x.Pair || !slices.ContainsFunc(words, func(word string) bool { return naming.Bare(x.Text) == word }) {
			continue
		}
		rare = rare || x.Rarity >= commonWord
		nowhere = nowhere || x.Nowhere
	}
	return rare, nowhere
}
