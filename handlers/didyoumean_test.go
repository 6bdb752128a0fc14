package handlers

import (
	"net/http"
	"strings"
	"testing"
)

// TestDidYouMean: a name of another interface, or one that is written otherwise,
// is refused with the one that is meant.
func TestDidYouMean(t *testing.T) {
	s := start(t, Options{})
	for body, want := range map[string]string{
		`{"query":"x"}`:                       `did you mean "question"?`,
		`{"q":"x"}`:                           `did you mean "question"?`,
		`{"question":"x","limit":3}`:          `did you mean "k"?`,
		`{"question":"x","top_k":3}`:          `did you mean "k"?`,
		`{"question":"x","timeoutMs":3}`:      `did you mean "timeout_ms"?`,
		`{"question":"x","include":["text"]}`: `did you mean "fields"?`,
	} {
		if p := s.post("/v1/search", body).problem(t); p.Code != "unknown_field" || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %+v", body, p)
		}
	}
	for query, want := range map[string]string{"question=x": `did you mean "q"?`, "query=x": `did you mean "q"?`, "q=x&top_k=3": `did you mean "k"?`} {
		if p := s.send(http.MethodGet, "/v1/search?"+query, "").problem(t); p.Code != "unknown_parameter" ||
			!strings.Contains(p.Detail, want) {
			t.Errorf("%s: %+v", query, p)
		}
	}
}
