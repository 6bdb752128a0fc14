package web

import (
	"fmt"
	"strings"
)

// guideSearch is the path of the guide's search.
const guideSearch = guideRoot + "search"

// Finding is a passage of the guide that was found for a question.
type Finding struct {
	Page    string // the file below docs: evidence/load.md
	Heading string // of the section that it is from; "": the page's first
	Text    string
}

// findingView is a Finding as the page shows it.
type findingView struct{ Path, Page, Heading, Text string }

// textShown is the largest number of bytes of a passage that are shown.
const textShown = 400

// GuideResults returns the guide's search page with findings for a question; "" shows only the search box. It fails if
// the guide lacks the page of a finding.
func GuideResults(question string, found []Finding) ([]byte, error) {
	b, err := theBook()
	if err != nil {
		return nil, err
	}
	shown := []findingView{}
	for _, f := range found {
		x, err := b.newFindingView(f)
		if err != nil {
			return nil, err
		}
		shown = append(shown, x)
	}
	return b.fillFrame(map[string]any{
		"Page":     &guidePage{Path: guideSearch, Title: "Search"},
		"Searched": true, "Question": question, "Found": shown,
	})
}

// newFindingView returns a finding with the address of its section. It fails if the guide has no such page.
func (b *book) newFindingView(f Finding) (x findingView, err error) {
	for _, p := range b.pages {
		if p.Name != f.Page {
			continue
		}
		if err := p.rendered(); err != nil {
			return x, err
		}
		x = findingView{Path: p.Path, Page: p.Title, Heading: f.Heading, Text: shortenText(f.Text)}
		if anchor := p.anchors[f.Heading]; anchor != "" {
			x.Path += "#" + anchor
		}
		if x.Heading == x.Page {
			x.Heading = ""
		}
		return x, nil
	}
	return x, fmt.Errorf("the guide has no page %s", f.Page)
}

// shortenText returns a text of at most textShown bytes as it is, otherwise its beginning, cut at the last blank, with
// … behind it.
func shortenText(text string) string {
	if len(text) <= textShown {
		return text
	}
	return text[:strings.LastIndexByte(text[:textShown], ' ')+1] + "…"
}
