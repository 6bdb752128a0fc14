package adapters

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.org/conclave/handlers"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// chatAnswer is the answer to a chat message while it is written: text in Markdown with citations.
type chatAnswer struct {
	collection string
	say        *phrases // in the language of the message
	base       addressBook
	emit       func(piece string) error // sends a piece of the text to the client
	text       strings.Builder
	body       int // bytes of the text before its sources
	links      linkFilter
	stop       stopFilter
	notes      []string        // on the request
	form       *jsonForm       // nil: text
	refusal    string          // why there is no JSON where form is set
	failed     error           // of emit
	added      int             // bytes of the generator's text that were added
	quoted     bool            // the passages' own words are shown, and numbers are of results
	supported  bool            // a sentence of it is supported by passages, or is not compared with them
	heldBack   strings.Builder // the generator's text until a sentence of it is supported
	cited      []citedSource
}

const (
	chatPassages = 3   // passages shown if no words are marked
	chatSnippet  = 400 // about the bytes shown of each
)

// appendText formats a whole piece of text and appends it to the answer (appendPiece), after any text that was held
// back. Links stay links only if allowLinks named their addresses.
func (a *chatAnswer) appendText(format string, args ...any) {
	a.appendPiece(fmt.Sprintf(format, args...), true)
}

// appendPiece appends a piece of text to a.text, filtered for links and stop texts, and passes it to a.emit. ends says
// that no link goes on after the piece; otherwise its end may be held back until the next one. An error of emit is kept
// in a.failed, after which nothing is appended.
func (a *chatAnswer) appendPiece(piece string, ends bool) {
	shown := a.stop.filterPiece(a.links.filterPiece(piece, ends), ends)
	if shown == "" || a.failed != nil {
		return
	}
	a.text.WriteString(shown)
	a.failed = a.emit(shown)
}

// allowLinks allows links to the addresses of these results in the text that follows.
func (a *chatAnswer) allowLinks(found []reply.Result) {
	for _, x := range found {
		a.links.allowAddress(a.base.addressOf(x.Collection, x.ID, x.Metadata, x.Place))
	}
}

// writeAnswer writes the answer to the request's last message to a.text and, piece by piece, to a.emit. It searches
// unless the message needs no search (answerTalk). It returns the response, of which a message without a search has the
// cited results alone. It fails if the search or a.emit does.
func (a *chatAnswer) writeAnswer(
	ctx context.Context,
	e handlers.Engine,
	request search.Request,
) (r reply.Response, err error) {
	message, _ := lastMessage(&request)
	a.say = phrasesFor(message, nil)
	if a.form != nil {
		return a.answerInForm(ctx, e, request)
	}
	switch talked, err := a.answerTalk(ctx, e, &request); {
	case err != nil:
		return r, err
	case talked != nil:
		return *talked, nil
	}
	r, err = e.Search(ctx, search.Caller{Watching: search.Watchers{
		Found: func(r reply.Response) error {
			a.allowLinks(r.Results)
			a.say = phrasesFor(message, r.Results)
			if r.Verdict == reply.VerdictDoubtful && len(pinnedResults(r)) == 0 {
				a.appendText(a.say.doubtful+"\n\n", a.collection)
			}
			return a.failed
		},
		Written: func(text string) {
			a.appendGenerated(text[a.added:])
			a.added = len(text)
		},
		Sentence: a.markUnsupported,
	}}, request)
	if err != nil {
		return r, err
	}
	a.appendPiece("", true)
	a.allowLinks(r.Results)
	a.say = phrasesFor(message, r.Results)
	switch g := r.Generated; {
	case isUnanswered(r):
		a.appendText(a.say.notFound, a.collection)
		a.body = a.text.Len()
	case g != nil && len(r.Answers) > 0 && (g.Refused || len(g.Sentences) > 0 && !a.supported):
		a.quoteBefore(r)
	case g != nil && g.Text != "":
		a.appendText("%s", a.heldBack.String())
		switch {
		case a.added > 0:
		case g.Refused: // its text is search.RefusedText, which it did not write itself
			a.appendText(a.say.notFound, a.collection)
		default:
			a.appendText("%s", g.Text)
		}
		if len(g.Sentences) > 0 && !a.supported {
			a.appendText("%s", "\n\n"+a.say.unsupportedAll)
		}
		a.body = a.text.Len()
		var cited []citedSource
		for _, c := range g.Citations {
			cited = append(cited, citedSource{c.Number, c.Collection, c.Passage, titleOf(c.Title, c.Passage), c.Place})
		}
		a.appendSources(cited)
	default:
		a.quoteAnswer(r)
	}
	return r, a.failed
}

// answerTo writes the answer to the request's last message and sends each piece of its text to the client with emit,
// which it sets. It returns the response of the search; of a message that needs none, the cited results alone. It fails
// if the search or emit does. A failing emit ends the search, since nobody reads the rest.
func (a *chatAnswer) answerTo(
	ctx context.Context,
	e handlers.Engine,
	request search.Request,
	emit func(piece string) error,
) (reply.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.emit = func(piece string) error {
		err := emit(piece)
		if err != nil {
			cancel()
		}
		return err
	}
	return a.writeAnswer(ctx, e, request)
}

// allNotes returns the notes on the request and on the search r that answered it.
func (a *chatAnswer) allNotes(r reply.Response) []string {
	return slices.Concat(a.notes, correctedWords(r), notesOf(r))
}

// appendGenerated appends a piece of the generator's text to the answer. It is held back until a sentence of it is
// supported.
func (a *chatAnswer) appendGenerated(piece string) {
	if a.supported {
		a.appendPiece(piece, false)
		return
	}
	a.heldBack.WriteString(piece)
}

// markUnsupported appends a mark to the text so far if no passage supports the sentence s that it ends with. At the
// first sentence that is supported, or that cannot be compared, it shows the text that was held back.
func (a *chatAnswer) markUnsupported(s reply.WrittenSentence) {
	switch {
	case s.Supported || s.Unchecked == "other_language" || s.Unchecked == "unfinished":
		if !a.supported {
			a.supported = true
			a.appendPiece(a.heldBack.String(), false)
			a.heldBack.Reset()
		}
	case s.Unchecked != "":
	case len(s.Citations) == 0:
		a.appendGenerated(a.say.uncitedMark)
	default:
		a.appendGenerated(a.say.unsupportedMark)
	}
}

// quoteBefore appends the words that a reader marked, and then the generated sentences that no passage supports,
// without citations.
func (a *chatAnswer) quoteBefore(r reply.Response) {
	a.quoted = true
	shown := a.quoteWords(r)
	if !r.Generated.Refused {
		a.appendText("\n\n%s\n\n%s", a.say.unsupportedRest, citations.ReplaceAllString(r.Generated.Text, ""))
	}
	a.body = a.text.Len()
	a.appendSources(shown)
}

// finishReason returns the finish_reason of the answer: length if the generator's text was cut off, otherwise stop.
func (a *chatAnswer) finishReason(r reply.Response) string {
	if g := r.Generated; g != nil && !g.Complete && !g.Refused {
		return "length"
	}
	return "stop"
}

// quoteAnswer appends the passages that an administrator has put first; without any, the words that a reader marked,
// with the passage around them, or the first passages if none are marked.
func (a *chatAnswer) quoteAnswer(r reply.Response) {
	a.quoted = true
	var shown []citedSource
	for i, pinned := range pinnedResults(r) {
		shown = append(shown, a.quotePassage(pinned, i+1, 0))
	}
	if len(shown) == 0 {
		shown = a.quoteWords(r)
	}
	if len(shown) == 0 {
		a.appendText(a.say.nearest, a.collection)
		for i := range r.Results[:min(chatPassages, len(r.Results))] {
			shown = append(shown, a.quotePassage(r.Results[i], i+1, 0))
		}
	}
	a.body = a.text.Len()
	a.appendSources(shown)
}

// quoteWords appends the first words that a reader marked, with the passage around them, and returns that passage as
// the only source. It appends nothing and returns nil if no words are marked, or if their passage is not among the
// results. Words that may stand by themselves come first, in bold, followed by the passage or the table row that they
// are from; other words are bold within the passage.
func (a *chatAnswer) quoteWords(r reply.Response) []citedSource {
	if len(r.Answers) == 0 {
		return nil
	}
	words := r.Answers[0]
	at := resultAt(r.Results, words.Collection, words.Passage)
	if at < 0 {
		return nil
	}
	if words.Headline {
		a.appendText("**%s** [%d]\n\n", strings.Join(strings.Fields(words.Text), " "), at+1)
	}
	if words.Row != nil {
		return []citedSource{a.quoteRow(words.Row, r.Results[at], at+1)}
	}
	found := r.Results[at]
	if text := contentOf(found); !words.Headline && words.End <= len(text) {
		found.Text = text[:words.Start] + "**" + text[words.Start:words.End] + "**" + text[words.End:]
	}
	return []citedSource{a.quotePassage(found, at+1, words.Start)}
}

// quoteRow writes a row of a passage's table below its header, as a table in Markdown, and [number] behind it. It
// returns the passage as the source of that number.
func (a *chatAnswer) quoteRow(row *reply.TableRow, x reply.Result, number int) citedSource {
	line := func(cells []string) string {
		return "| " + strings.Join(withoutBars(cells), " | ") + " |"
	}
	a.appendText(
		"%s\n|%s\n%s\n\n[%d]", line(row.Header), strings.Repeat(" --- |", len(row.Header)), line(row.Cells), number,
	)
	return citedSource{number, x.Collection, x.ID, titleOf(x.Title, x.ID), x.Place}
}

// withoutBars returns texts as cells of a Markdown table: each on one line, with | escaped.
func withoutBars(cells []string) (out []string) {
	for _, c := range cells {
		out = append(out, strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`))
	}
	return out
}

// quotePassage appends the part of a passage around the byte from, with [number] behind it, and returns it as the
// source of that number.
func (a *chatAnswer) quotePassage(x reply.Result, number, from int) citedSource {
	if a.text.Len() > 0 && !strings.HasSuffix(a.text.String(), "\n\n") {
		a.appendText("\n\n")
	}
	a.appendText("> %s [%d]", strings.Join(strings.Fields(snippetAround(contentOf(x), from)), " "), number)
	return citedSource{number, x.Collection, x.ID, titleOf(x.Title, x.ID), x.Place}
}

// snippetAround returns the part of a text around the byte at this offset, about chatSnippet bytes long, with … where
// it is cut.
func snippetAround(text string, at int) string {
	begin := 0
	if len(text) > chatSnippet && at > chatSnippet/2 {
		begin = min(at-chatSnippet/2, len(text)-chatSnippet)
		for begin > 0 && !utf8.RuneStart(text[begin]) {
			begin--
		}
	}
	out := firstOf(text[begin:], chatSnippet)
	if begin > 0 {
		out = "…" + out
	}
	return out
}

// citedSource is a passage that the text cites, with its number.
type citedSource struct {
	number     int
	collection string // where several were searched
	id         string
	title      string
	at         reply.Place
}

// resultAt returns the index in results of the passage with this collection and id; -1: it is not there. Only both
// together are unique.
func resultAt(results []reply.Result, collection, id string) int {
	return slices.IndexFunc(results, func(x reply.Result) bool { return x.ID == id && x.Collection == collection })
}

// metadataOf returns the metadata of the passage with this collection and id among results; nil: it is not there.
func metadataOf(results []reply.Result, collection, id string) map[string]any {
	if at := resultAt(results, collection, id); at >= 0 {
		return results[at].Metadata
	}
	return nil
}

// appendSources appends the list of the cited passages, with their places, to the text; nothing if there are none.
func (a *chatAnswer) appendSources(all []citedSource) {
	a.cited = all
	if len(all) == 0 {
		return
	}
	a.appendText("\n\n%s\n", a.say.sources)
	for _, s := range all {
		parts := []string{s.title}
		if d := s.at.Document; d != nil && titleOf(d.Title, d.ID) != s.title {
			parts = append(parts, titleOf(d.Title, d.ID))
		}
		if s.at.Heading != "" && s.at.Heading != s.title {
			parts = append(parts, s.at.Heading)
		}
		if s.at.Page > 0 {
			parts = append(parts, fmt.Sprintf(a.say.page, s.at.Page))
		}
		if s.collection != "" {
			parts = append(parts, s.collection)
		}
		a.appendText(
			"- [%d] %s\n", s.number, firstOf(strings.Join(strings.Fields(strings.Join(parts, ", ")), " "), chatSnippet),
		)
	}
}

// citation matches numbers of passages in an answer: [1], [2, 3].
var citations = regexp.MustCompile(`\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\]`)

// number matches one of them.
var numbers = regexp.MustCompile(`\d+`)

// citationsOf returns the citations in the text: where each is, in characters, and its passage among r's results.
// Numbers that stand for no passage are left out; the list is nil if there are none.
func (a *chatAnswer) citationsOf(r reply.Response) (out []chatAnnotation) {
	text := a.text.String()[:a.body]
	places := map[int]urlCitation{}
	for i, x := range r.Results {
		if a.quoted {
			places[i+1] = urlCitation{
				Title: titleOf(x.Title, x.ID), URL: a.base.addressOf(x.Collection, x.ID, x.Metadata, x.Place),
			}
		}
	}
	if !a.quoted && r.Generated != nil {
		for _, c := range r.Generated.Citations {
			metadata := metadataOf(r.Results, c.Collection, c.Passage)
			places[c.Number] = urlCitation{
				Title: titleOf(c.Title, c.Passage), URL: a.base.addressOf(c.Collection, c.Passage, metadata, c.Place),
			}
		}
	}
	for _, span := range citations.FindAllStringIndex(text, -1) {
		for _, digits := range numbers.FindAllString(text[span[0]:span[1]], -1) {
			n, err := strconv.Atoi(digits)
			at, known := places[n]
			if err != nil || !known {
				continue
			}
			at.Start = utf8.RuneCountInString(text[:span[0]])
			at.End = at.Start + utf8.RuneCountInString(text[span[0]:span[1]])
			out = append(out, chatAnnotation{"url_citation", at})
		}
	}
	return out
}
