package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"example.org/conclave/internal/completion"
	"example.org/conclave/search/lookup"
	"example.org/conclave/store/folder"
)

// TestSuggestTitlesBesideDocuments: where some passages belong to documents, titles of the others are suggested too.
func TestSuggestTitlesBesideDocuments(t *testing.T) {
	s := startWriting(t, writingOptions{live: folder.LiveOptions{FlushAfter: time.Millisecond}})
	titled := `{"id":"tale","title":"The Clockmaker's Hen","text":"zebra"}`
	if r, _, _ := s.upload("/v1/passages?refresh=wait", titled); r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	page := "# Kites\n\nzebra\n\n## Knots\n\nzebra\n"
	r := s.send(http.MethodPut, "/v1/documents/kites.md?refresh=wait", page, "Content-Type", "text/markdown")
	if r.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	for typed, want := range map[string]lookup.Suggestion{
		"clock": {Text: "The Clockmaker's Hen", Kind: completion.Document, Passages: 1},
		"kno":   {Text: "Knots", Kind: completion.Heading, Passages: 1},
	} {
		r := s.send(http.MethodGet, "/v1/suggest?q="+url.QueryEscape(typed), "")
		var list SuggestionList
		if err := json.Unmarshal(r.body, &list); err != nil || !slices.Equal(list.Suggestions, []lookup.Suggestion{want}) {
			t.Errorf("%s: %s", typed, r.body)
		}
	}
}
