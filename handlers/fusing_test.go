package handlers

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// TestFuse: the results of a search go back as they came, and are ranked as that search
// or another one ranks them.
func TestFuse(t *testing.T) {
	s := start(t, Options{})
	ask := func(method string) (results json.RawMessage, order []string) {
		t.Helper()
		r := s.post(
			"/v1/search",
			`{"question":"how do bees find the hive","k":50,"explain":true,"fields":["title","text","tags","metadata","contributions"],"fusion":"`+method+`"}`,
		)
		var answer struct{ Results json.RawMessage }
		if err := json.Unmarshal(r.body, &answer); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%v: %s", err, r.body)
		}
		for _, result := range decodeResponse(t, r.body).Results {
			order = append(order, result.ID)
		}
		return answer.Results, order
	}
	results, _ := ask("sum")
	for _, method := range []string{"sum", "rrf"} {
		_, want := ask(method)
		r := s.post("/v1/fuse", `{"fusion":"`+method+`","candidates":`+string(results)+`}`)
		var got []string
		for _, result := range decodeResponse(t, r.body).Results {
			got = append(got, result.ID)
			if result.Text == "" || len(result.Contributions) == 0 {
				t.Errorf("%+v", result)
			}
		}
		if r.StatusCode != http.StatusOK || len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d %v, the search says %v", method, r.StatusCode, got, want)
		}
	}
	twice := s.post(
		"/v1/fuse",
		`{"fusion":"rrf","candidates":[{"id":"a","contributions":[]},{"id":"a","contributions":[]}]}`,
	)
	if p := twice.problem(t); twice.StatusCode != http.StatusUnprocessableEntity || p.Code != "duplicate_id" ||
		p.Errors[0].Pointer != "/candidates/1/id" {
		t.Errorf("%d %s", twice.StatusCode, twice.body)
	}
}
