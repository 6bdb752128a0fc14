package guide

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/handlers/web"
	"example.org/conclave/search"
)

// newGuide returns a guide that is closed with the test, and the folder in which it makes its collection at the first
// search. It sets TMPDIR to that folder.
func newGuide(t *testing.T) (*Guide, string) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	g := New(Options{
		Reading: documents.Options{Words: 120, Limits: documents.Limits{
			FileBytes: 1 << 20, UnpackedBytes: 1 << 20, TextBytes: 1 << 20, Blocks: 1 << 16, Time: time.Minute, Depth: 1,
			Members: 1,
		}},
		Limits: search.Limits{
			K: 100, Candidates: 100, QuestionBytes: 4 << 10, Timeout: time.Minute, Batch: 1, BatchParallel: 1, EmbedInputs: 1,
			EmbedBytes: 1 << 10, AnswerBytes: 1 << 20,
		},
		K: 10, Candidates: 100,
	})
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, folder
}

// TestGuideAnswers: questions that a reader of the guide has are answered by the page, and the section,
// that a reader would name; mistyped words are put right.
func TestGuideAnswers(t *testing.T) {
	g, folder := newGuide(t)
	for question, want := range map[string]string{
		"connect Claude to my index over MCP":               "/guide/chatbots#",
		"what does the verdict not_found mean?":             "/guide/confidence#found-doubtful-not-found",
		"how do I add a fusion method?":                     "/guide/ARCHITECTURE#",
		"which file formats can be read, such as PDF, DOCX": "/guide/",
		"Prometeus metrics":                                 "/guide/op",
		"how to choose a threshold to give no answer":       "/guide/confidence#when-to-give-no-answer",
	} {
		found, err := g.SearchGuide(t.Context(), question, 5)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", question, found, err)
		}
		page, err := web.GuideResults(question, found)
		if err != nil {
			t.Fatal(err)
		}
		_, list, _ := strings.Cut(string(page), `<ol class="found">`)
		list, _, _ = strings.Cut(list, "</ol>")
		if !strings.Contains(list, `<a href="`+want) {
			t.Errorf("%s: %s\nwant %s", question, list, want)
		}
	}
	if found, err := g.SearchGuide(t.Context(), "zyzzyva quokka", 5); err != nil || len(found) > 0 {
		t.Errorf("what is not in the guide: %v, %v", found, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := g.SearchGuide(t.Context(), "confidence", 1); err == nil {
		t.Error("a closed guide answers")
	}
}

// TestGuideWithoutRoom: where the collection cannot be made, the search says why, and works when it can.
func TestGuideWithoutRoom(t *testing.T) {
	g, folder := newGuide(t)
	t.Setenv("TMPDIR", filepath.Join(folder, "absent"))
	if _, err := g.SearchGuide(t.Context(), "confidence", 1); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("without a folder: %v", err)
	}
	t.Setenv("TMPDIR", folder)
	if found, err := g.SearchGuide(t.Context(), "confidence", 1); err != nil || len(found) != 1 {
		t.Errorf("with one: %v, %v", found, err)
	}
}

// TestEveryPassageHasItsPage: each passage is of a page that the guide shows.
func TestEveryPassageHasItsPage(t *testing.T) {
	g, _ := newGuide(t)
	pages, err := readPages(t.Context(), g.options.Reading)
	if err != nil || len(pages.passages) < 300 {
		t.Fatalf("%d passages, %v", len(pages.passages), err)
	}
	for _, p := range pages.passages {
		name, _ := p.Metadata["document"].(string)
		if _, err := web.GuideResults("x", []web.Finding{{Page: name, Text: p.Text}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join("..", "..", "docs")); err != nil {
		t.Skip(err)
	}
	names, err := fs.Glob(os.DirFS(filepath.Join("..", "..", "docs")), "*.md")
	if err != nil || len(names) < 15 {
		t.Errorf("%v, %v", names, err)
	}
}
