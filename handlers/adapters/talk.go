package adapters

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

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

// talk answers the last message of a request if it needs no search: what a chat program asks about the conversation,
// thanks, greetings, and questions about the collection or one of its documents. It returns the passage that the answer
// cites as the results of a search; nil if there is something to search for. Where the message asks what one document
// says about something, talk limits the request to that document.
func (a *chatAnswer) talk(ctx context.Context, e handlers.Engine, r *search.Request) (*reply.Response, error) {
	message, follows := lastMessage(r)
	if answer, ok := talk.AnswerTask(message); ok {
		a.say("%s", answer)
		return a.endTalk(taskNote)
	}
	switch kind := talk.Classify(message, follows); kind {
	case talk.Question:
		if len(r.Filter.Documents) > 0 {
			return nil, nil
		}
		return a.talkAboutOne(ctx, e, r, message)
	case talk.Thanks:
		a.say("You are welcome.")
	case talk.Goodbye:
		a.say("Goodbye.")
	default:
		all, err := listDocuments(ctx, e)
		if err != nil {
			return nil, err
		}
		a.talkAboutAll(kind, all)
	}
	return a.endTalk(talkNote)
}

// endTalk ends an answer that needed no search with a note that says so, and returns the results that it cites as such
// of a search.
func (a *chatAnswer) endTalk(note string, cited ...reply.Result) (*reply.Response, error) {
	a.add("", true)
	a.body = a.text.Len()
	a.quoted = true
	a.notes = append(a.notes, note)
	var sources []source
	for i, x := range cited {
		sources = append(sources, source{i + 1, x.Collection, x.ID, titleOf(x.Title, x.ID), x.Place})
	}
	a.sources(sources)
	return &reply.Response{Results: cited}, a.failed
}

// lastMessage returns what the user wrote last, and whether there are messages of the user before it.
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

// overview is what is known of a collection.
type overview struct {
	documents []corpus.Document
	more      bool // there are others
	passages  int
}

// listDocuments returns what is known of the documents that the caller may see.
func listDocuments(ctx context.Context, e handlers.Engine) (all overview, err error) {
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

// size returns how many documents and passages there are, in words.
func (o *overview) size() string {
	passages := count(o.passages, "passage")
	if len(o.documents) == 0 {
		return passages
	}
	documents := count(len(o.documents), "document")
	if o.more {
		documents = "more than " + documents
	}
	return documents + " with " + passages
}

// titles returns the titles of at most so many documents, from all over the list.
func (o *overview) titles(most int) string {
	var names []string
	n := min(most, len(o.documents))
	for i := range n {
		d := o.documents[i*len(o.documents)/n]
		names = append(names, "“"+titleOf(d.Title, d.ID)+"”")
	}
	if len(names) > 1 {
		names = append(names[:len(names)-2], names[len(names)-2]+" and "+names[len(names)-1])
	}
	return strings.Join(names, ", ")
}

// count returns a number with a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// talkAboutAll writes the answer to a message of one of the kinds that are about the whole collection.
func (a *chatAnswer) talkAboutAll(kind talk.Kind, all overview) {
	examples := ""
	if titles := all.titles(fewShown); titles != "" {
		examples = " Ask about " + titles + ", for example."
	}
	switch kind {
	case talk.Greeting:
		a.say("Hello. I answer questions from %s, which has %s.%s", a.collection, all.size(), examples)
	case talk.Aside:
		a.say("I answer questions from %s.%s", a.collection, examples)
	case talk.Who:
		a.say("I am a program that answers questions from %s, which has %s. "+
			"I say where each answer stands, and I say so where I find none.%s", a.collection, all.size(), examples)
	case talk.Count, talk.About:
		a.say("%s has %s.", a.collection, all.size())
		a.listSome(all.documents)
	case talk.Updated:
		a.sayAge(all)
	}
}

// listSome writes the titles of some documents.
func (a *chatAnswer) listSome(documents []corpus.Document) {
	if len(documents) == 0 {
		return
	}
	a.say("\n\n")
	n := min(mostShown, len(documents))
	for i := range n {
		d := documents[i*len(documents)/n]
		a.say("- %s\n", describeDocument(&d))
	}
	if n < len(documents) {
		a.say("\nThese are %d of them.", n)
	}
}

// describeDocument returns the title and the id of a document on one line.
func describeDocument(d *corpus.Document) string {
	if title := titleOf(d.Title, d.ID); title != d.ID {
		return title + " (" + d.ID + ")"
	}
	return d.ID
}

// sayAge writes which documents were changed last and first.
func (a *chatAnswer) sayAge(all overview) {
	dated := slices.DeleteFunc(slices.Clone(all.documents), func(d corpus.Document) bool { return d.Modified.IsZero() })
	if len(dated) == 0 {
		a.say("%s has %s. It is not known when they were changed last.", a.collection, all.size())
		return
	}
	byTime := func(x, y corpus.Document) int { return x.Modified.Compare(y.Modified) }
	oldest := slices.MinFunc(dated, byTime)
	newest := slices.MaxFunc(dated, byTime)
	a.say("%s has %s.", a.collection, all.size())
	if all.more {
		a.say(" Of the first %d:", len(all.documents))
	}
	if dateOf(newest.Modified) == dateOf(oldest.Modified) {
		a.say(" All with a date were changed on %s.", dateOf(newest.Modified))
		return
	}
	a.say(" The newest is %s, changed on %s; the oldest is %s, changed on %s.",
		describeDocument(&newest), dateOf(newest.Modified), describeDocument(&oldest), dateOf(oldest.Modified))
}

// dateOf returns a day in words.
func dateOf(t time.Time) string { return t.UTC().Format("2 January 2006") }

// talkAboutOne answers a message that asks what one document says as talk does, and limits r to a document if the
// message asks what it says about something.
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
			a.say("%s has several documents of this name. Which one is meant?", a.collection)
			a.listSome(named)
			return a.endTalk(talkNote)
		default:
			return a.describe(ctx, e, &named[0])
		}
	}
	return nil, nil
}

// documentsNamed returns the documents with this id, title or file name, whatever the case of their letters; nil: there
// are none among the first that have it as a part.
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

// describe writes what a document is: its size, its headings, and how it begins.
func (a *chatAnswer) describe(ctx context.Context, e handlers.Engine, d *corpus.Document) (*reply.Response, error) {
	text, err := e.DocumentText(ctx, search.Caller{}, d.ID, 1, chatSnippet*4)
	if err != nil {
		return nil, err
	}
	headings, err := headingsOf(ctx, e, d)
	if err != nil {
		return nil, err
	}
	a.say("**%s** has %s", describeDocument(d), count(d.Passages, "passage"))
	if !d.Modified.IsZero() {
		a.say(" and was changed on %s", dateOf(d.Modified))
	}
	a.say(".")
	if len(headings) > 1 {
		a.say(" It is about:\n\n")
		for _, h := range headings[:min(mostShown, len(headings))] {
			a.say("- %s\n", h)
		}
		if n := len(headings) - mostShown; n > 0 {
			a.say("\nThere are %d headings more.", n)
		}
	}
	a.say("\n\nIt begins:\n\n> %s [1]", firstOf(strings.Join(strings.Fields(text.Text), " "), chatSnippet))
	return a.endTalk(talkNote, reply.Result{ID: corpus.PassageID(d.ID, 1), Title: d.Title, Place: reply.Place{
		Document: &reply.DocumentReference{ID: d.ID, Title: d.Title, Source: d.Source},
	}})
}

// headingsOf returns the headings of a document's first passages, in their order, each once.
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
