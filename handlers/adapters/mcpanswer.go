package adapters

import (
	"context"

	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/storage"
)

// answerBytes is how much of an answer's text a tool gives.
const answerBytes = 8 << 10

type answerOutput struct {
	Text    string         `json:"text" jsonschema:"the answer, which cites sources by their numbers, as [1]"`
	Written bool           `json:"written,omitempty" jsonschema:"a model wrote it; otherwise it is the passages' own words"`
	Sources []answerSource `json:"sources" jsonschema:"the passages that it cites"`
	Verdict string         `json:"verdict,omitempty" jsonschema:"whether the collection answers: found, doubtful or not_found; left out where that is not known"`
	Note    string         `json:"note,omitempty" jsonschema:"what to know before relying on it"`
	Notes   []string       `json:"notes,omitempty" jsonschema:"notes about the question, and about sources that took no part"`
}

type answerSource struct {
	Number int    `json:"number"`
	ID     string `json:"id" jsonschema:"the id to give to fetch"`
	Title  string `json:"title"`
	URL    string `json:"url" jsonschema:"for citations"`
	placeCitation
	// Of several that were searched.
	Collection string `json:"collection,omitempty" jsonschema:"the collection that it is of, to give to fetch"`
}

// answer implements the tool answer: it answers a question as the chat interface does. The text has at most
// answerBytes, and at most toolResults of the cited passages are listed. Without a reader it quotes passages. It fails
// if the search does.
func (t *toolCaller) answer(ctx context.Context, in findInput) (answerOutput, error) {
	out := answerOutput{Sources: []answerSource{}}
	request := search.Request{
		Must:    in.Must,
		MustNot: in.MustNot,
		K:       min(toolResults, t.engine.Limits().K),
		Fields:  passageFields,
		Filter:  storage.Filter{Documents: in.In},
	}
	appendQuery(&request, in.Query, in.Messages)
	if len(t.engine.Readers()) > 0 {
		request.Answer = ask.AnswerOptions{Wanted: true, Reader: ask.ReaderAuto}
	}
	a := &chatAnswer{collection: t.collection, base: t.base, emit: func(string) error { return nil }}
	r, err := a.writeAnswer(ctx, t.engine, request)
	if err != nil {
		return out, err
	}
	out.Text, _ = cutText(a.text.String(), answerBytes)
	out.Written = r.Generated != nil
	for _, s := range a.cited[:min(toolResults, len(a.cited))] {
		address := t.address(s.collection, s.id, metadataOf(r.Results, s.collection, s.id), s.at)
		title, _ := cutText(s.title, snippetBytes/4)
		out.Sources = append(out.Sources, answerSource{
			s.number, s.id, title, address, citationOf(s.at), s.collection,
		})
	}
	out.Verdict = string(r.Verdict)
	out.Note = cautionsOf(r)
	out.Notes = notesOf(r)
	return out, nil
}
