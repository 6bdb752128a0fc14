package handlers

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/guide"
)

// realGuide returns the search of the guide as a server has it, with the guide indexed.
func realGuide(t *testing.T) GuideSearcher {
	t.Helper()
	limits := testLimits()
	limits.Timeout = time.Minute
	limits.QuestionBytes = 4 << 10
	g := guide.New(guide.Options{
		Reading: documents.Options{Limits: documentLimits(), Words: 120}, Limits: limits, K: 5, Candidates: limits.Candidates,
	})
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	// The first search indexes the guide, which may take longer than a request has.
	if _, err := g.SearchGuide(t.Context(), "bees", 1); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGuideSearch: every page has a form that searches the guide; what is found is linked with its
// section, under a base path too, and what was typed stays text.
func TestGuideSearch(t *testing.T) {
	s := start(t, Options{Guide: realGuide(t), BasePath: "/tools"})
	if r := s.send(http.MethodGet, "/tools/guide/fusion", ""); !strings.Contains(string(r.body), `action="/tools/guide/search"`) {
		t.Errorf("the page has no form: %.500s", r.body)
	}
	r := s.send(http.MethodGet, "/tools/guide/search?q=what+does+the+verdict+not_found+mean", "")
	page := string(r.body)
	link := regexp.MustCompile(`<li><a href="/tools(/guide/[^"#]+)#([^"]+)">`).FindStringSubmatch(page)
	if r.StatusCode != http.StatusOK || link == nil || !strings.Contains(page, `href="/tools/guide/confidence#`) {
		t.Fatalf("%d %q in %s", r.StatusCode, link, page)
	}
	to := s.send(http.MethodGet, "/tools"+link[1], "")
	if !strings.Contains(string(to.body), `id="`+link[2]+`"`) {
		t.Errorf("%s has no %s", link[1], link[2])
	}
	r = s.send(http.MethodGet, "/tools/guide/search?q=%22%3E%3Cscript%3Ezyzzyva", "")
	if strings.Contains(string(r.body), "<script") || !strings.Contains(string(r.body), "zyzzyva") {
		t.Errorf("%s", r.body)
	}
	if r := s.send(http.MethodGet, "/tools/guide/search", ""); r.StatusCode != http.StatusOK ||
		strings.Contains(string(r.body), "Nothing") {
		t.Errorf("without a question: %d %s", r.StatusCode, r.body)
	}
	if r := s.send(http.MethodGet, "/tools/guide/search?q="+strings.Repeat("x", 6000), ""); r.StatusCode < 400 {
		t.Errorf("a question that is too long: %d", r.StatusCode)
	}
}

// TestLLMsTxt: llms.txt is Markdown with a title, a summary and lists of links (https://llmstxt.org), each
// of which leads to a page as it was written.
func TestLLMsTxt(t *testing.T) {
	s := start(t, Options{})
	text := string(s.send(http.MethodGet, "/llms.txt", "").body)
	if text != string(s.send(http.MethodGet, "/guide/llms.txt", "").body) {
		t.Error("/guide/llms.txt is another text")
	}
	lines := strings.Split(text, "\n")
	if lines[0] != "# conclave" || !strings.HasPrefix(lines[2], "> ") || strings.Count(text, "\n## ") < 3 {
		t.Fatalf("%s", text)
	}
	links := regexp.MustCompile(`(?m)^- \[[^\]]+\]\((/guide/[^)]+\.md)\): (.*)$`).FindAllStringSubmatch(text, -1)
	if len(links) < 20 || len(links) != strings.Count(text, "\n- ") {
		t.Fatalf("%d links in %s", len(links), text)
	}
	for _, link := range links {
		r := s.send(http.MethodGet, link[1], "")
		if !strings.HasPrefix(string(r.body), "# ") || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/markdown") {
			t.Errorf("%s: %d %s", link[1], r.StatusCode, r.Header.Get("Content-Type"))
		}
		if len(link[2]) < 20 {
			t.Errorf("of %s it says %q alone", link[1], link[2])
		}
	}
}
