package adapters

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/handlers"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// What answers of the tools may hold, so that they fit beside a conversation. A token
// of a language model is about four bytes of English, and never less than one.
const (
	toolResults   = 10       // of search: 10 kB of text, about 2,500 tokens
	snippetBytes  = 1 << 10  // of a passage in a search
	fetchBytes    = 32 << 10 // of a passage that is fetched: about 8,000 tokens
	metadataBytes = 4 << 10  // of its metadata; larger ones are left out
	citedBytes    = 1 << 10  // of a citation: a document's id, and where it is from
	explained     = 3        // results of explain
	explainTerms  = 8        // of each of them
)

// toolCaller runs the tools of MCP for one request.
type toolCaller struct {
	engine     handlers.AdmittedEngine
	collection string
	alone      bool        // there is no other collection
	base       addressBook // of passages and documents
	failed     func(error) // is told why a call failed; nil: nobody is
}

// ofCollection is the argument that names a tool's collection. The collection was opened before (collectionOfCall).
type ofCollection struct {
	Collection string `json:"collection,omitempty" jsonschema:"the name of the collection, where the server has several and you were told which; else leave it out"`
}

// collectionNames returns the name of the collection as a list; nil if none is given.
func (o ofCollection) collectionNames() []string {
	if o.Collection == "" {
		return nil
	}
	return []string{o.Collection}
}

// ofCollections are the arguments that name the collections that a tool searches as one.
type ofCollections struct {
	ofCollection
	Collections []string `json:"collections,omitempty" jsonschema:"names of several collections, to search them as one; else leave it out"`
}

// collectionNames returns all names that are given.
func (o ofCollections) collectionNames() []string {
	return append(o.ofCollection.collectionNames(), o.Collections...)
}

type findInput struct {
	ofCollections
	Query    string           `json:"query" jsonschema:"the question, in plain words"`
	Messages []search.Message `json:"messages,omitempty" jsonschema:"the conversation before the query, where it does not stand alone; the last message last"`
	Must     []string         `json:"must,omitempty" jsonschema:"words or phrases that each passage has to have; leave it out unless the user asks for exactly these"`
	MustNot  []string         `json:"must_not,omitempty" jsonschema:"words or phrases that no passage may have"`
	In       []string         `json:"documents,omitempty" jsonschema:"ids of documents, to search in these alone"`
}

type searchInput struct {
	findInput
	Around  int    `json:"around,omitempty" jsonschema:"how many neighbouring passages before and behind each result to add, 0 to 5"`
	Offsets string `json:"offsets,omitempty" jsonschema:"what start and end of answers count: bytes of UTF-8 (the default), codepoints (as Python slices) or utf16 (as JavaScript slices)"`
}

type findOutput struct {
	Asked   string       `json:"asked,omitempty" jsonschema:"how the query was understood: behind which messages, or which part of a long one"`
	Results []findResult `json:"results" jsonschema:"the passages, best first"`
	Answers []findAnswer `json:"answers,omitempty" jsonschema:"words of these passages that answer, the likeliest first"`
	Verdict string       `json:"verdict,omitempty" jsonschema:"whether these passages answer: found, doubtful or not_found; left out where that is not known"`
	Note    string       `json:"note,omitempty" jsonschema:"what to know before relying on them"`
	Notes   []string     `json:"notes,omitempty" jsonschema:"notes about the question, and about sources that took no part"`
}

type findResult struct {
	ID string `json:"id" jsonschema:"the id to give to fetch"`
	// Of several that were searched.
	Collection string `json:"collection,omitempty" jsonschema:"the collection that it is of, to give to fetch"`

	Title string `json:"title"`
	URL   string `json:"url" jsonschema:"for citations"`
	Text  string `json:"text,omitempty" jsonschema:"the passage, or its beginning"`
	// What stands around the passage, its beginning or its end cut off.
	Before string `json:"before,omitempty" jsonschema:"what stands before the passage in its document"`
	After  string `json:"after,omitempty" jsonschema:"what stands behind it"`
	placeCitation
}

// placeCitation says where in a document a passage is.
type placeCitation struct {
	Document string `json:"document,omitempty" jsonschema:"the id of the document that the passage is of; fetch reads it too"`
	Source   string `json:"source,omitempty" jsonschema:"where that document is from: an address or a path"`
	Heading  string `json:"heading,omitempty" jsonschema:"the headings above the passage, for citations"`
	Page     int    `json:"page,omitempty" jsonschema:"the page, slide or sheet of the document, for citations"`
}

// citationOf returns a place for the tools' answers, its texts shortened.
func citationOf(at reply.Place) (c placeCitation) {
	if at.Document == nil {
		return c
	}
	c.Document, c.Page = at.Document.ID, at.Page
	c.Source, _ = cutText(at.Document.Source, snippetBytes/4)
	c.Heading, _ = cutText(at.Heading, snippetBytes/4)
	return c
}

type findAnswer struct {
	Text       string   `json:"text"`
	Passage    string   `json:"passage" jsonschema:"the id of the passage that has the words"`
	Collection string   `json:"collection,omitempty" jsonschema:"the collection that it is of, to give to fetch"`
	Start      int      `json:"start" jsonschema:"where they begin in its text, in bytes of UTF-8 or what offsets names"`
	End        int      `json:"end" jsonschema:"where they end"`
	Chance     *float64 `json:"chance,omitempty" jsonschema:"that these are the right words"`
	Headline   bool     `json:"headline" jsonschema:"true if the words can be shown alone; otherwise show them in their sentence, or with the row's header"`
	// Row is the row of a table that the words stand in.
	Row *reply.TableRow `json:"row,omitempty" jsonschema:"the row of a table that the words stand in, with its header"`
	placeCitation
}

// marksByDefault reports whether a search that does not say so asks for marked answers: it does if the first reader
// marks words. A generator, which would be slow, does not count.
func marksByDefault(e handlers.Engine) bool {
	readers := e.Readers()
	return len(readers) > 0 && !readers[0].Generates
}

// search implements the tool search: passages and marked answers for a query, with their texts shortened. It returns at
// most toolResults passages, and the engine's error if the search fails.
func (t *toolCaller) search(ctx context.Context, in searchInput) (findOutput, error) {
	out := findOutput{Results: []findResult{}}
	request := search.Request{
		Must:    in.Must,
		MustNot: in.MustNot,
		K:       min(toolResults, t.engine.Limits().K),
		Fields:  passageFields,
		Offsets: in.Offsets,
		Around:  in.Around,
		Filter:  storage.Filter{Documents: in.In},
	}
	appendQuery(&request, in.Query, in.Messages)
	request.Answer.Wanted = marksByDefault(t.engine)
	response, err := t.engine.Search(ctx, search.Caller{}, request)
	if err != nil {
		return out, err
	}
	for _, x := range response.Results {
		text, _ := cutText(contentOf(x), snippetBytes)
		title, _ := cutText(titleOf(x.Title, x.ID), snippetBytes/4)
		address := t.address(x.Collection, x.ID, x.Metadata, x.Place)
		out.Results = append(
			out.Results,
			findResult{
				ID: x.ID, Collection: x.Collection, Title: title, URL: address, Text: text, Before: lastOf(x.Before, snippetBytes),
				After: firstOf(x.After, snippetBytes), placeCitation: citationOf(x.Place),
			},
		)
	}
	for _, a := range response.Answers {
		out.Answers = append(
			out.Answers,
			findAnswer{
				Text: a.Text, Passage: a.Passage, Collection: a.Collection, Start: a.Start, End: a.End, Chance: a.Chance,
				Headline: a.Headline, Row: a.Row, placeCitation: citationOf(a.Place),
			},
		)
	}
	out.Asked, _ = cutText(response.Asked, snippetBytes)
	out.Verdict = string(response.Verdict)
	out.Note = cautionsOf(response)
	out.Notes = notesOf(response)
	return out, nil
}

// cautionsOf returns sentences that tell a model what to know before it relies on a response: which words were
// corrected, and that the passages may not answer (cautionOf). It returns "" if there is nothing to tell.
func cautionsOf(r reply.Response) string {
	all := correctedWords(r)
	if d := cautionOf(r); d != "" {
		all = append(all, d)
	}
	return strings.Join(all, " ")
}

// correctedWords returns a sentence for each misspelt word and what was searched for instead.
func correctedWords(r reply.Response) (all []string) {
	for _, c := range r.Corrected {
		all = append(all, fmt.Sprintf("%q was taken for %q.", c.From, c.To))
	}
	return all
}

type fetchInput struct {
	ofCollection
	ID   string `json:"id" jsonschema:"the id of a result of search, or of its document"`
	From int    `json:"from,omitempty" jsonschema:"for a document that does not fit into one answer: the value of next in the previous answer"`
}

type fetchOutput struct {
	ID       string         `json:"id"`
	Title    string         `json:"title"`
	Text     string         `json:"text"`
	Next     int            `json:"next,omitempty" jsonschema:"the document has more text: give this value as from to read on"`
	URL      string         `json:"url" jsonschema:"for citations"`
	Metadata map[string]any `json:"metadata" jsonschema:"the passage's metadata"`
	placeCitation
}

// fetch implements the tool fetch: the text of a passage or, if no passage has the id or From is set, of a document. It
// fails if neither exists, or reading fails.
func (t *toolCaller) fetch(ctx context.Context, in fetchInput) (fetchOutput, error) {
	passage, _, err := t.engine.Passage(ctx, search.Caller{}, in.ID)
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.NotFound || err == nil && in.From > 0 {
		return t.fetchDocument(ctx, in, err)
	}
	if err != nil {
		return fetchOutput{}, err
	}
	place := reply.PlaceOf(&passage)
	out := fetchOutput{
		ID:            passage.ID,
		Title:         titleOf(passage.Title, passage.ID),
		URL:           t.address("", passage.ID, passage.Metadata, place),
		Metadata:      map[string]any{},
		placeCitation: citationOf(place),
	}
	size := 0
	for name, value := range passage.Metadata {
		size += len(name) + len(fmt.Sprint(value)) + 6
		out.Metadata[name] = value
	}
	if size > metadataBytes {
		clear(out.Metadata)
		out.Metadata["left_out"] = fmt.Sprintf("%d bytes of metadata", size)
	}
	if len(passage.Tags) > 0 && size <= metadataBytes {
		out.Metadata[tagsKey], _ = cutText(strings.Join(passage.Tags, ", "), metadataBytes)
	}
	var whole bool
	out.Text, whole = cutText(contentOf(reply.Result{Title: passage.Title, Text: passage.Text}), fetchBytes)
	if !whole {
		out.Metadata["truncated"] = true
	}
	return out, nil
}

// fetchDocument returns the text of a document, as much as one answer holds, and says where it goes on. If there is no
// document either, it returns noPassage, the error of looking for a passage.
func (t *toolCaller) fetchDocument(ctx context.Context, in fetchInput, noPassage error) (fetchOutput, error) {
	if in.From < 0 {
		return fetchOutput{}, fieldError("out_of_range", "/from", "from is %d: it has to be from 1", in.From)
	}
	found, err := t.engine.DocumentText(ctx, search.Caller{}, in.ID, max(in.From, 1), fetchBytes)
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.NotFound && in.From == 0 && noPassage != nil {
		return fetchOutput{}, noPassage
	}
	if err != nil {
		return fetchOutput{}, err
	}
	at := reply.Place{Document: &found.Document}
	out := fetchOutput{
		ID:            found.Document.ID,
		Title:         titleOf(found.Document.Title, found.Document.ID),
		Next:          found.Next,
		URL:           t.address("", found.Document.ID, nil, at),
		Metadata:      map[string]any{},
		placeCitation: citationOf(at),
	}
	var whole bool
	out.Text, whole = cutText(found.Text, fetchBytes)
	if !whole || found.Next > 0 {
		out.Metadata["truncated"] = true
	}
	return out, nil
}

// address returns the web address of a passage (addressBook.addressOf). A server over standard input and output has no
// pages: unless the passage or its document has an address of its own, it is one that begins with conclave://.
func (t *toolCaller) address(collection, id string, metadata map[string]any, at reply.Place) string {
	return t.base.addressOf(collection, id, metadata, at)
}

// isWebAddress reports whether text is a complete http or https address with a host, without a user name, of at most
// snippetBytes, and without characters that a page could take for something else.
func isWebAddress(text string) bool {
	if len(text) > snippetBytes || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune("<>\"`\\", r)
	}) {
		return false
	}
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Hostname() != "" &&
		address.User == nil
}

type expertsInput struct{ ofCollection }

type expertsOutput struct {
	Collection string       `json:"collection"`
	Passages   int          `json:"passages" jsonschema:"how many passages are searched"`
	Experts    []toolExpert `json:"experts"`
}

type toolExpert struct {
	Name      string `json:"name"`
	Kind      string `json:"kind" jsonschema:"dense: a vector for each text; late: one for each token"`
	Passages  int    `json:"passages"`
	MaxTokens int    `json:"max_question_tokens" jsonschema:"how much of a question it reads"`
}

// listExperts implements the tool list_experts: it returns the collection's name, its number of passages and its
// experts. It never fails.
func (t *toolCaller) listExperts(context.Context, expertsInput) (expertsOutput, error) {
	_, passages := t.engine.Generation()
	out := expertsOutput{Collection: t.collection, Passages: passages, Experts: []toolExpert{}}
	for _, x := range t.engine.Experts() {
		out.Experts = append(
			out.Experts,
			toolExpert{Name: x.Name, Kind: x.Kind, Passages: x.Passages, MaxTokens: x.MaxTokens[learned.KindQuestion]},
		)
	}
	return out, nil
}

type explainOutput struct {
	Asked           string            `json:"asked,omitempty" jsonschema:"how the query was understood"`
	Fusion          string            `json:"fusion" jsonschema:"the method that joined the sources' rankings"`
	Confidence      *float64          `json:"confidence,omitempty" jsonschema:"the chance that the first passage answers"`
	ConfidenceBasis string            `json:"confidence_basis,omitempty"`
	Verdict         string            `json:"verdict,omitempty" jsonschema:"whether the passages that were searched answer: found, doubtful or not_found"`
	Note            string            `json:"note,omitempty"`
	Notes           []string          `json:"notes,omitempty" jsonschema:"notes about the question, and about sources that took no part"`
	Sources         []toolSource      `json:"sources" jsonschema:"the sources that were asked"`
	Results         []toolExplanation `json:"results" jsonschema:"what each source contributed to the first passages"`
}

type toolSource struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Status      string   `json:"status"`
	Weight      *float64 `json:"weight,omitempty"`
	Familiarity *float64 `json:"familiarity,omitempty" jsonschema:"how similar the question is to those that the expert was trained on"`
	Chance      *float64 `json:"chance,omitempty" jsonschema:"the chance that its own first passage answers"`
}

type toolExplanation struct {
	ID            string              `json:"id"`
	Title         string              `json:"title"`
	Score         float64             `json:"score" jsonschema:"the sum of the contributions"`
	Contributions []toolContribution  `json:"contributions"`
	Terms         []storage.TermScore `json:"terms,omitempty" jsonschema:"the words that counted the most"`
}

type toolContribution struct {
	Source       string   `json:"source"`
	Score        *float64 `json:"score,omitempty" jsonschema:"the source's own score"`
	Rank         *int     `json:"rank,omitempty" jsonschema:"the passage's rank in the source's own list"`
	Weight       float64  `json:"weight"`
	Contribution float64  `json:"contribution" jsonschema:"what it added to the score"`
}

// explain implements the tool explain: how much each source contributed to the first results' scores. It explains at
// most explained results, with their strongest terms (strongestTerms), and returns the engine's error if the search
// fails.
func (t *toolCaller) explain(ctx context.Context, in findInput) (explainOutput, error) {
	request := search.Request{
		Must:    in.Must,
		MustNot: in.MustNot,
		K:       min(explained, t.engine.Limits().K),
		Explain: true,
		Filter:  storage.Filter{Documents: in.In},
		Fields:  []string{"title", "contributions", "sources"},
	}
	appendQuery(&request, in.Query, in.Messages)
	r, err := t.engine.Search(ctx, search.Caller{}, request)
	if err != nil {
		return explainOutput{}, err
	}
	out := explainOutput{
		Fusion:          r.Fusion,
		Confidence:      r.Confidence,
		ConfidenceBasis: r.Basis,
		Verdict:         string(r.Verdict),
		Note:            cautionsOf(r),
		Notes:           notesOf(r),
		Sources:         []toolSource{},
		Results:         []toolExplanation{},
	}
	out.Asked, _ = cutText(r.Asked, snippetBytes)
	for _, x := range r.Sources {
		out.Sources = append(out.Sources, toolSource{x.Name, x.Kind, x.Status, x.Weight, x.Familiarity, x.Chance})
	}
	for _, x := range r.Results {
		title, _ := cutText(titleOf(x.Title, x.ID), snippetBytes/4)
		explained := toolExplanation{
			ID:            x.ID,
			Title:         title,
			Score:         x.Score,
			Contributions: []toolContribution{},
			Terms:         strongestTerms(x.Explanation),
		}
		for _, c := range x.Contributions {
			explained.Contributions = append(
				explained.Contributions,
				toolContribution{c.Source, c.Score, c.Rank, c.Weight, c.Contribution},
			)
		}
		out.Results = append(out.Results, explained)
	}
	return out, nil
}

// cutText returns the beginning of a text, at most most bytes with the … at its end, and whether that is all of the
// text. It cuts between characters. most must be at least 3.
func cutText(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, true
	}
	const ellipsis = "…"
	end := most - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis, false
}

// firstOf returns a text cut to at most most bytes, between characters, with … at its end if something was cut off.
// most must be at least 3.
func firstOf(text string, most int) string {
	text, _ = cutText(text, most)
	return text
}

// lastOf returns the end of a text, at most most bytes with the … at its beginning if it was cut. It cuts between
// characters. most must be at least 3.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	begin := len(text) - most + len(ellipsis)
	for !utf8.RuneStart(text[begin]) {
		begin++
	}
	return ellipsis + text[begin:]
}
