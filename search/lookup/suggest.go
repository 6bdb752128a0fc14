package lookup

import (
	"context"
	"fmt"
	"strings"

	"example.org/conclave/internal/completion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// Bounds of how many suggestions an answer has.
const (
	UsualSuggestions = 8 // if a request does not say
	MostSuggestions  = 50
)

const (
	mostSuggested = 50_000 // different titles, and different headings, that are suggested: those of the most passages
	mostTitles    = 5000   // passages that are read for the titles of those without a document
	titlesAtOnce  = 500    // passages that are read at once for their titles
)

// SuggestRequest asks for completions of what somebody begins to type.
type SuggestRequest struct {
	Text  string
	Limit int // of suggestions, at most MostSuggestions; 0: UsualSuggestions
}

// Suggestion is a text that may be meant by what was typed.
type Suggestion struct {
	Text      string          `json:"text"`
	Kind      completion.Kind `json:"kind"`
	Passages  int             `json:"passages"` // that have it
	Corrected bool            `json:"corrected,omitempty"`
}

// Suggestions returns the titles of documents and the headings in the passages that the caller may see, and the titles
// of those of the first mostTitles passages that are of no document. It returns a *fault.Error of kind Unavailable if
// they cannot be read.
func (r Reader) Suggestions(ctx context.Context) (*completion.Index, error) {
	unreadable := func(err error) error {
		return &fault.Error{
			Kind: fault.Unavailable, Code: "unavailable",
			Detail: "the titles could not be read; the server's log says why", Err: fmt.Errorf("reading titles: %w", err),
		}
	}
	view := r.View
	var entries []completion.Entry
	err := view.Narrow(ctx, storage.Filter{})
	if err != nil {
		return nil, unreadable(err)
	}
	err = run.Guard(func() error {
		for field, kind := range map[string]completion.Kind{
			corpus.DocumentTitleKey: completion.Document, corpus.HeadingKey: completion.Heading,
		} {
			values, err := snapshot.ValuesIn(ctx, view.Narrowed, field, mostSuggested)
			if err != nil {
				return err
			}
			for _, v := range values {
				path := strings.Split(fmt.Sprint(v.Value.Any()), corpus.HeadingSeparator)
				entries = append(entries, completion.Entry{Text: path[len(path)-1], Kind: kind, Passages: v.Count})
			}
		}
		return nil
	})
	if err != nil {
		return nil, unreadable(err)
	}
	titles, err := r.titles(ctx)
	if err != nil {
		return nil, err
	}
	return completion.New(append(entries, titles...)), nil
}

// titles returns the titles of those of the first mostTitles passages that the caller may see which are of no document.
// It fails if they cannot be read.
func (r Reader) titles(ctx context.Context) (entries []completion.Entry, err error) {
	after := ""
	for read := 0; read < mostTitles; {
		passages, next, err := r.List(ctx, after, titlesAtOnce)
		if err != nil {
			return nil, err
		}
		for _, p := range passages {
			if _, ofDocument := p.Metadata[corpus.DocumentKey]; p.Title != "" && !ofDocument {
				entries = append(entries, completion.Entry{Text: p.Title, Kind: completion.Document, Passages: 1})
			}
		}
		read += len(passages)
		if next == "" {
			break
		}
		after = next
	}
	return entries, nil
}
