package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.org/conclave/search"
)

// TestWording: an error names the parameter, the value that was sent, and what
// is allowed, in a GET as in a POST.
func TestWording(t *testing.T) {
	s := start(t, Options{Engine: testEngine(t, engineOptions{limits: search.Limits{K: 50}})})
	for query, want := range map[string]string{
		"k=abc":        `k is "abc": it has to be a whole number from 1 to 50.`,
		"k=":           `k is "": it has to be a whole number from 1 to 50.`,
		"k=0":          `k is 0: it has to be a whole number from 1 to 50.`,
		"k=-1":         `k is -1: it has to be a whole number from 1 to 50.`,
		"k=51":         `k is 51: it has to be a whole number from 1 to 50.`,
		"k=1.5":        `k is 1.5: it has to be a whole number from 1 to 50.`,
		"k=1e400":      `k is "1e400": it has to be a whole number from 1 to 50.`,
		"bm25=maybe":   `bm25 is "maybe": it has to be true or false.`,
		"fusion=magic": `fusion is "magic": it has to be one of auto, `,
		"fields=color": `fields is "color": it has to be one of title, text, tags, metadata, document, contributions, sources, highlights.`,
		"timeout_ms=0": `timeout_ms is 0: it has to be a whole number from 1 to 5000.`,
		"k=" + strings.Repeat("x", 300) + "&bm25=1": `bm25 is "1": it has to be true or false.`,
	} {
		p := s.send(http.MethodGet, "/v1/search?q=bees&"+query, "").problem(t)
		if !strings.HasPrefix(p.Detail, want) || p.Status != 422 {
			t.Errorf("%.40s: %d %q, want %q", query, p.Status, p.Detail, want)
		}
		for _, e := range p.Errors {
			if _, sent := mustQuery(t, query)[e.Parameter]; !sent {
				t.Errorf("%.40s: %+v", query, e)
			}
		}
	}
	for body, want := range map[string]string{
		`"k":"ten"`:      `/k is "ten": it has to be a whole number from 1 to 50.`,
		`"k":null`:       `/k is null: it has to be a whole number from 1 to 50; leave the field out for its default.`,
		`"k":[1]`:        `/k is a list: it has to be a whole number from 1 to 50.`,
		`"k":-1`:         `/k is -1: it has to be a whole number from 1 to 50.`,
		`"exact":0`:      `/exact is 0: it has to be true or false.`,
		`"fusion":7`:     `/fusion is 7: it has to be a string or a list.`,
		`"fusion":[]`:    `/fusion has 0 entries: it needs at least 1.`,
		`"experts":true`: `/experts is true: it has to be a list.`,
	} {
		p := s.post("/v1/search", `{"question":"bees",`+body+`}`).problem(t)
		if p.Detail != want {
			t.Errorf("%s: %q, want %q", body, p.Detail, want)
		}
	}
	p := s.post("/v1/search/batch", `{"searches":[{"question":"bees"},{"question":"bees","k":51}]}`)
	if !strings.Contains(string(p.body), `k is 51: it has to be a whole number from 1 to 50`) {
		t.Errorf("%s", p.body)
	}
}

func mustQuery(t *testing.T, text string) url.Values {
	t.Helper()
	values, err := url.ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
