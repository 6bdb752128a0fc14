package adapters

import (
	"fmt"
	"strings"
	"testing"

	"example.org/conclave/search/reply"
)

// TestSourcesOfSeveral: of two collections with a passage of the same id, a written answer cites the one that it was
// written from, and a quoted one quotes the one whose words were marked.
func TestSourcesOfSeveral(t *testing.T) {
	found := reply.Response{Results: []reply.Result{
		{ID: "p", Collection: "a", Text: "The lamp is in the hall.", Metadata: map[string]any{"url": "https://a.test/"}},
		{ID: "p", Collection: "b", Text: "The lamp is in the cellar.", Metadata: map[string]any{"url": "https://b.test/"}},
	}}
	for i, want := range []string{"https://a.test/", "https://b.test/"} {
		of := found.Results[i]
		written := &chatAnswer{say: phrasesIn("en"), emit: func(string) error { return nil }}
		r := found
		r.Generated = &reply.Generated{Citations: []reply.Citation{{Number: 1, Passage: "p", Collection: of.Collection}}}
		written.appendText("There [1].")
		written.body = written.text.Len()
		if got := written.citationsOf(r); len(got) != 1 || got[0].Citation.URL != want {
			t.Errorf("%s: cited %+v", of.Collection, got)
		}
		quoted := &chatAnswer{say: phrasesIn("en"), emit: func(string) error { return nil }}
		r = found
		r.Answers = []reply.Extract{{
			Text: "in the", Passage: "p", Collection: of.Collection, Start: 12, End: 18, Headline: true,
		}}
		quoted.quoteAnswer(r)
		text := quoted.text.String()
		if !strings.Contains(text, of.Text) || !strings.Contains(text, fmt.Sprintf("[%d]", i+1)) ||
			!strings.Contains(text, ", "+of.Collection+"\n") || quoted.cited[0].collection != of.Collection {
			t.Errorf("%s: %s, %+v", of.Collection, text, quoted.cited)
		}
		if m := metadataOf(found.Results, of.Collection, "p"); m["url"] != want {
			t.Errorf("%+v", m)
		}
	}
}
