package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
)

// wasAsked sends a request with the name of a key.
func wasAsked(t *testing.T, api *API, method, path, body, key string) received {
	t.Helper()
	v := visitor{method: method, path: path, body: body}
	if body != "" {
		v.contentType = schema.TypeJSON
	}
	got := v.visit(t, api, t.Context(), key)
	return received{got.Result(), got.Body.Bytes()}
}

// filtered sends a request whose query string has a filter.
func filtered(t *testing.T, api *API, method, path, filter, key string) received {
	t.Helper()
	join := "?"
	if strings.Contains(path, "?") {
		join = "&"
	}
	return wasAsked(t, api, method, path+join+"filter="+url.QueryEscape(filter), "", key)
}

// idsIn returns the ids of passages or results in an answer.
func idsIn(t *testing.T, r received) (ids []string) {
	t.Helper()
	var said struct {
		Results   []struct{ ID string }
		Passages  []struct{ ID string }
		Documents []struct{ ID string }
	}
	if err := json.Unmarshal(r.body, &said); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	for _, x := range slices.Concat(said.Results, said.Passages, said.Documents) {
		ids = append(ids, x.ID)
	}
	return ids
}

// TestFilterInQuery: the filter of a query string selects as that of a body does, in searches, lists and the dry run
// of a deletion, beside tags and beneath the filter of the key; what is wrong with it is said of the parameter.
func TestFilterInQuery(t *testing.T) {
	api := grouped(t, false)
	secretOnes := []string{"bees", "bees#1", "bees#2"}
	const secrets, open = `{"field":"group","eq":"secret"}`, `{"not":{"field":"group","eq":"secret"}}`
	body := wasAsked(t, api, http.MethodPost, "/v1/search", `{"question":"bees","k":50,"filter":`+secrets+`}`, "chief")
	want := idsIn(t, body)
	if len(want) != 3 {
		t.Fatalf("%v", want)
	}
	if got := idsIn(t, filtered(t, api, http.MethodGet, "/v1/search?q=bees&k=50", secrets, "chief")); !slices.Equal(
		got, want,
	) {
		t.Errorf("%v, want %v", got, want)
	}
	body = wasAsked(
		t,
		api,
		http.MethodPost,
		"/v1/search",
		`{"question":"bees","filter":{"tags_any":["none"],"and":[`+open+`]}}`,
		"chief",
	)
	if got := idsIn(t, filtered(t, api, http.MethodGet, "/v1/search?q=bees&tags_any=none", open, "chief")); !slices.Equal(
		got, idsIn(t, body),
	) {
		t.Errorf("beside tags: %v", got)
	}
	all := idsIn(t, wasAsked(t, api, http.MethodGet, "/v1/passages", "", "chief"))
	if got := idsIn(t, filtered(t, api, http.MethodGet, "/v1/passages", secrets, "chief")); !slices.Equal(
		got, secretOnes,
	) {
		t.Errorf("listed: %v", got)
	}
	if got := idsIn(t, filtered(t, api, http.MethodGet, "/v1/passages", open, "chief")); len(got) != len(all)-3 {
		t.Errorf("listed otherwise: %v of %v", got, all)
	}
	if got := idsIn(t, filtered(t, api, http.MethodGet, "/v1/documents", secrets, "chief")); !slices.Equal(
		got, []string{"bees"},
	) {
		t.Errorf("documents: %v", got)
	}
	for _, path := range []string{"/v1/search?q=bees&k=50", "/v1/passages", "/v1/documents"} {
		if r := filtered(t, api, http.MethodGet, path, secrets, "member"); len(idsIn(t, r)) != 0 ||
			strings.Contains(string(r.body), secret) {
			t.Errorf("%s shows a member %s", path, r.body)
		}
	}
	for filter, count := range map[string]string{secrets: `{"passages":3}`, `{"field":"nobody","exists":true}`: `{"passages":0}`} {
		r := filtered(t, api, http.MethodDelete, "/v1/passages?dry_run=true", filter, "chief")
		if r.StatusCode != http.StatusOK || strings.TrimSpace(string(r.body)) != count {
			t.Errorf("%s: %d %s", filter, r.StatusCode, r.body)
		}
	}
	r := wasAsked(t, api, http.MethodDelete, "/v1/passages?dry_run=true&ids=bees,bees,none", "", "chief")
	if strings.TrimSpace(string(r.body)) != `{"passages":1}` {
		t.Errorf("%s", r.body)
	}
	r = filtered(t, api, http.MethodDelete, "/v1/passages?dry_run=true", secrets, "member")
	if r.StatusCode != http.StatusForbidden {
		t.Errorf("a member counts what it may not see: %d %s", r.StatusCode, r.body)
	}
	for _, path := range []string{
		"GET /v1/search?q=bees", "GET /v1/passages", "GET /v1/documents", "DELETE /v1/passages",
	} {
		method, path, _ := strings.Cut(path, " ")
		for filter, says := range map[string][2]string{
			`{"field":`:                          {"invalid_query", "has to be JSON"},
			`{"field":"year","price":1}`:         {"unknown_field", "price"},
			`{"field":"year"}`:                   {"empty_condition", "year"},
			`{"and":[{"field":"year","gt":[]}]}`: {"wrong_type", "gt"},
		} {
			r := filtered(t, api, method, path, filter, "chief")
			p := r.problem(t)
			if p.Code != says[0] || !strings.Contains(p.Detail, says[1]) || len(p.Errors) == 0 ||
				p.Errors[0].Parameter != "filter" {
				t.Errorf("%s %s %s: %+v", method, path, filter, p)
			}
		}
	}
	if p := filtered(t, api, http.MethodGet, "/v1/search?q=x&tags_any=a", `{"tags_any":["b"]}`, "chief").problem(t); p.Code != "invalid_query" {
		t.Errorf("%+v", p)
	}
	if p := filtered(t, api, http.MethodDelete, "/v1/passages", `{}`, "chief").problem(t); p.Code != "missing_parameter" {
		t.Errorf("%+v", p)
	}
}

// TestNestedFilters: 16 conditions may stand inside each other, as the description says, below the first, also in lists
// and in a search of a batch; one more is a mistake of the filter that names where it is.
func TestNestedFilters(t *testing.T) {
	api := grouped(t, false)
	nested := func(deep int) string {
		inner := `{"field":"year","in":[2020]}`
		for i := range deep - 1 {
			inner = []string{`{"and":[` + inner + `]}`, `{"or":[` + inner + `]}`}[i%2]
		}
		return `{"question":"bees","k":50,"filter":` + inner + `}`
	}
	for deep, want := range map[int]int{2: http.StatusOK, 17: http.StatusOK, 18: http.StatusUnprocessableEntity} {
		one := wasAsked(t, api, http.MethodPost, "/v1/search", nested(deep), "chief")
		if one.StatusCode != want {
			t.Errorf("%d deep: %d %.400s", deep, one.StatusCode, one.body)
		}
		batch := wasAsked(t, api, http.MethodPost, "/v1/search/batch", `{"searches":[`+nested(deep)+`]}`, "chief")
		right := !strings.Contains(string(batch.body), `#problem-`)
		if batch.StatusCode != http.StatusOK || right != (want == http.StatusOK) {
			t.Errorf("%d deep in a batch: %d %.400s", deep, batch.StatusCode, batch.body)
		}
		if want != http.StatusOK && !strings.Contains(string(one.body), "more than 16 deep") {
			t.Errorf("%s", one.body)
		}
	}
}
