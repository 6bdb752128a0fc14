package adapters

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/talk"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// Bounds of what is said about a collection.
const (
	listedAtOnce   = 200  // documents that are asked for at once
	mostListed     = 1000 // documents that are looked at in all
	mostShown      = 12   // documents and headings that are named
	fewShown       = 3    // documents that are named by the way
	mostOfDocument = 200  // passages of which the headings are read
)

const (
	talkNote   = "answered from what is known of the collection, without a search"
	taskNote   = "answered from the conversation, without a search"
	withinNote = "searched in %s alone, for: %s"
)

// answerTalk answers the last message of a request if it needs no search: what a chat program asks about the
// conversation, thanks, greetings, and questions about the collection or one of its documents. It returns the passage
// that the answer cites as the results of a search; nil if there is something to search for. Where the message asks
// what one document says about something, talk limits the request to that document. It fails if documents or passages
// cannot be read, or emit fails.
func (a *chatAnswer) answerTalk(ctx context.Context, e handlers.Engine, r *search.Request) (*reply.Response, error) {
	message, follows := lastMessage(r)
	if answer, ok := talk.AnswerTask(message); ok {
		a.appendText("%s", answer)
		return a.endTalk(taskNote)
	}
	kind, language := talk.Classify(message, follows)
	say := phrasesIn(language)
	if kind != talk.Question {
		a.say = say
	}
	switch kind {
	case talk.Question:
		if len(r.Filter.Documents) > 0 {
			return nil, nil
		}
		return a.talkAboutOne(ctx, e, r, message)
	case talk.Thanks:
		a.appendText("%s", say.welcome)
	case talk.Goodbye:
		a.appendText("%s", say.goodbye)
	default:
		all, err := listDocuments(ctx, e)
		if err != nil {
			return nil, err
		}
		a.talkAboutAll(kind, all, say)
	}
	return a.endTalk(talkNote)
}

// endTalk ends an answer that needed no search. It adds note to the answer's notes, lists the cited passages as
// sources, and returns them as the results of a search. It fails if emit has failed.
func (a *chatAnswer) endTalk(note string, cited ...reply.Result) (*reply.Response, error) {
	a.appendPiece("", true)
	a.body = a.text.Len()
	a.quoted = true
	a.notes = append(a.notes, note)
	var sources []citedSource
	for i, x := range cited {
		sources = append(sources, citedSource{i + 1, x.Collection, x.ID, titleOf(x.Title, x.ID), x.Place})
	}
	a.appendSources(sources)
	return &reply.Response{Results: cited}, a.failed
}

// lastMessage returns the user's last message, or the question if no message is the user's, and whether another text of
// the user comes before it.
func lastMessage(r *search.Request) (message string, follows bool) {
	message = r.Question
	for _, m := range r.Messages {
		if m.Role == "user" {
			follows = message != ""
			message = m.Content
		}
	}
	return message, follows
}

// collectionOverview is what can be said about a whole collection.
type collectionOverview struct {
	documents []corpus.Document
	more      bool // there are others
	passages  int
}

// listDocuments returns an overview of the documents that the caller in ctx may see: the first mostListed of them or a
// few more, whether there are others, and the number of passages in the collection. It fails if documents cannot be
// read.
func listDocuments(ctx context.Context, e handlers.Engine) (all collectionOverview, err error) {
	_, all.passages = e.Generation()
	after := ""
	for len(all.documents) < mostListed {
		found, next, err := e.Documents(ctx, search.Caller{}, lookup.DocumentsRequest{After: after, Limit: listedAtOnce})
		if err != nil {
			return all, err
		}
		all.documents = append(all.documents, found...)
		after = next
		if next == "" {
			break
		}
	}
	all.more = after != ""
	return all, nil
}

// sizeText returns the size of the collection as text for a sentence, such as "more than 50 documents with 3,000
// passages"; only the passages if there are no documents.
func (o *collectionOverview) sizeText(say *phrases) string {
	passages := say.countPassages(o.passages)
	if len(o.documents) == 0 {
		return passages
	}
	documents := say.countDocuments(len(o.documents))
	if o.more {
		documents = fmt.Sprintf(say.moreThan, documents)
	}
	return fmt.Sprintf(say.with, documents, passages)
}

// someTitles returns the titles of at most so many documents (most), picked at equal distances from the list, as "“A”,
// “B” and “C”". It returns "" if there are no documents.
func (o *collectionOverview) someTitles(most int, say *phrases) string {
	n := min(most, len(o.documents))
	names := make([]string, n)
	for i := range names {
		d := o.documents[i*len(o.documents)/n]
		names[i] = fmt.Sprintf(say.quotes, titleOf(d.Title, d.ID))
	}
	return say.list(names)
}

// talkAboutAll appends the answer to a message of a kind that concerns the whole collection, in the language of say.
// For other kinds it appends nothing.
func (a *chatAnswer) talkAboutAll(kind talk.Kind, all collectionOverview, say *phrases) {
	examples := ""
	if titles := all.someTitles(fewShown, say); titles != "" {
		examples = fmt.Sprintf(say.examples, titles)
	}
	switch kind {
	case talk.Greeting:
		a.appendText(say.greeting, a.collection, all.sizeText(say), examples)
	case talk.Aside:
		a.appendText(say.aside, a.collection, examples)
	case talk.Who:
		a.appendText(say.who, a.collection, all.sizeText(say), examples)
	case talk.Count, talk.About:
		a.appendText(say.has, a.collection, all.sizeText(say))
		a.appendTitles(all.documents, say)
	case talk.Updated:
		a.appendAges(all, say)
	}
}

// appendTitles appends the titles and ids of at most mostShown documents, evenly chosen, as a list, and how many these
// are if there are more; nothing if there are none.
func (a *chatAnswer) appendTitles(documents []corpus.Document, say *phrases) {
	if len(documents) == 0 {
		return
	}
	a.appendText("\n\n")
	n := min(mostShown, len(documents))
	for i := range n {
		d := documents[i*len(documents)/n]
		a.appendText("- %s\n", describeDocument(&d))
	}
	if n < len(documents) {
		a.appendText("\n"+say.some, n)
	}
}

// describeDocument returns the title and the id of a document on one line.
func describeDocument(d *corpus.Document) string {
	if title := titleOf(d.Title, d.ID); title != d.ID {
		return title + " (" + d.ID + ")"
	}
	return d.ID
}

// appendAges appends which documents were changed last and first, out of those in all that have a date; if none has, it
// says that this is not known.
func (a *chatAnswer) appendAges(all collectionOverview, say *phrases) {
	dated := slices.DeleteFunc(slices.Clone(all.documents), func(d corpus.Document) bool { return d.Modified.IsZero() })
	if len(dated) == 0 {
		a.appendText(say.unknownAge, a.collection, all.sizeText(say))
		return
	}
	byTime := func(x, y corpus.Document) int { return x.Modified.Compare(y.Modified) }
	oldest := slices.MinFunc(dated, byTime)
	newest := slices.MaxFunc(dated, byTime)
	a.appendText(say.has, a.collection, all.sizeText(say))
	if all.more {
		a.appendText(say.first, len(all.documents))
	}
	if say.dayOf(newest.Modified) == say.dayOf(oldest.Modified) {
		a.appendText(say.sameDay, say.dayOf(newest.Modified))
		return
	}
	a.appendText(say.ages, describeDocument(&newest), say.dayOf(newest.Modified), describeDocument(&oldest),
		say.dayOf(oldest.Modified))
}

// talkAboutOne describes a document if message asks what a document of this name says, or asks which one is meant if
// there are several, and returns the results that the answer cites. If message asks what the document says about
// something, it limits r to the documents of this name and returns nil. It also returns nil if message names no
// document of the collection. It fails if documents cannot be read or sending fails.
func (a *chatAnswer) talkAboutOne(
	ctx context.Context,
	e handlers.Engine,
	r *search.Request,
	message string,
) (*reply.Response, error) {
	for _, mention := range talk.Mentions(message) {
		named, err := documentsNamed(ctx, e, mention.Name)
		if err != nil {
			return nil, err
		}
		switch {
		case len(named) == 0:
		case mention.Kind == talk.Within:
			for _, d := range named {
				r.Filter.Documents = append(r.Filter.Documents, d.ID)
			}
			r.Question = strings.TrimSpace(named[0].Title + " " + mention.Topic) // its passages need not say what it is on
			r.Messages = nil
			a.notes = append(a.notes, fmt.Sprintf(withinNote, strings.Join(r.Filter.Documents, ", "), r.Question))
			return nil, nil
		case len(named) > 1:
			a.appendText("%s has several documents of this name. Which one is meant?", a.collection)
			a.appendTitles(named, phrasesIn(""))
			return a.endTalk(talkNote)
		default:
			return a.describeOne(ctx, e, &named[0])
		}
	}
	return nil, nil
}

// documentsNamed returns the documents whose id, title, file name or file name without its extension is name, in any
// case of letters. It looks only at the first documents that match name (about mostListed). It returns nil if there are
// none, and fails if documents cannot be read.
func documentsNamed(ctx context.Context, e handlers.Engine, name string) (named []corpus.Document, err error) {
	after := ""
	for looked := 0; looked < mostListed; looked += listedAtOnce {
		r := lookup.DocumentsRequest{Match: name, After: after, Limit: listedAtOnce}
		found, next, err := e.Documents(ctx, search.Caller{}, r)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			file := path.Base(d.ID)
			names := []string{d.ID, d.Title, file, strings.TrimSuffix(file, path.Ext(file))}
			if slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) }) {
				named = append(named, d)
			}
		}
		after = next
		if next == "" {
			break
		}
	}
	return named, nil
}

// describeOne appends a description of a document: its size, its headings, and how it begins. It returns the passage
// that it cites. It fails if the document cannot be read.
func (a *chatAnswer) describeOne(ctx context.Context, e handlers.Engine, d *corpus.Document) (*reply.Response, error) {
	text, err := e.DocumentText(ctx, search.Caller{}, d.ID, 1, chatSnippet*4)
	if err != nil {
		return nil, err
	}
	headings, err := headingsOf(ctx, e, d)
	if err != nil {
		return nil, err
	}
	a.appendText("**%s** has %s", describeDocument(d), phrasesIn("").countPassages(d.Passages))
	if !d.Modified.IsZero() {
		a.appendText(" and was changed on %s", phrasesIn("").dayOf(d.Modified))
	}
	a.appendText(".")
	if len(headings) > 1 {
		a.appendText(" It is about:\n\n")
		for _, h := range headings[:min(mostShown, len(headings))] {
			a.appendText("- %s\n", h)
		}
		if n := len(headings) - mostShown; n > 0 {
			a.appendText("\nThere are %d headings more.", n)
		}
	}
	a.appendText("\n\nIt begins:\n\n> %s [1]", firstOf(strings.Join(strings.Fields(text.Text), " "), chatSnippet))
	return a.endTalk(talkNote, reply.Result{ID: corpus.PassageID(d.ID, 1), Title: d.Title, Place: reply.Place{
		Document: &reply.DocumentReference{ID: d.ID, Title: d.Title, Source: d.Source},
	}})
}

// headingsOf returns the different headings in a document's first passages, in the order of the passages; nil if there
// are none. It reads mostOfDocument passages at most, and leaves out a heading that only repeats the document's title.
// It fails if the passages cannot be read.
func headingsOf(ctx context.Context, e handlers.Engine, d *corpus.Document) (headings []string, err error) {
	passages, _, err := e.List(ctx, search.Caller{}, d.ID+"#", mostOfDocument)
	if err != nil {
		return nil, err
	}
	number := func(p corpus.Passage) int {
		document, n, ok := corpus.SplitPassageID(p.ID)
		if !ok || document != d.ID {
			return 0
		}
		return n
	}
	passages = slices.DeleteFunc(passages, func(p corpus.Passage) bool { return number(p) == 0 })
	slices.SortFunc(passages, func(x, y corpus.Passage) int { return cmp.Compare(number(x), number(y)) })
	for _, p := range passages {
		heading, _ := p.Metadata[corpus.HeadingKey].(string)
		heading = strings.TrimPrefix(heading, d.Title+" › ")
		if heading != "" && heading != d.Title && !slices.Contains(headings, heading) {
			headings = append(headings, heading)
		}
	}
	return headings, nil
}
