package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
)

// TestDeletePassages: a filter becomes a job, once; what is no filter becomes
// none, and what is empty least of all.
func TestDeletePassages(t *testing.T) {
	work := func(context.Context, jobs.Task) (jobs.Result, error) { return jobs.Result{Deleted: new(0)}, nil }
	s := startWriting(t, writingOptions{kinds: map[string]jobs.Handler{jobs.DeleteTagged: {Work: work}}})
	ask := func(query string) received { return s.send(http.MethodDelete, "/v1/passages"+query, "") }
	for query, want := range map[string]struct {
		status int
		code   string
		says   string
	}{
		"":                                       {400, "missing_parameter", "by tags_all, tags_any or filter, or by ids"},
		"?ids=":                                  {422, "empty_tag", "ids is empty"},
		"?ids=a&tags_any=b":                      {400, "invalid_query", "combined"},
		"?":                                      {400, "missing_parameter", ""},
		"?tags_any=":                             {422, "empty_tag", "tags_any is empty"},
		"?tags_all=a&tags_any=":                  {422, "empty_tag", "tags_any is empty"},
		"?tags_all=a,%20,b":                      {422, "empty_tag", "empty"},
		"?tags_all=a,":                           {422, "empty_tag", "empty"},
		"?tags_any=a&tags_any=b":                 {400, "repeated_parameter", "separated by commas"},
		"?tags=a":                                {400, "unknown_parameter", "the parameters are dry_run, filter, ids, tags_all, tags_any."},
		"?tags_any=a&q=bees":                     {400, "unknown_parameter", "tags_all, tags_any."},
		"?question=bees":                         {400, "unknown_parameter", "tags_all, tags_any."},
		"?tags_any=%ff":                          {400, "invalid_utf8", ""},
		"?tags_any=%zz":                          {400, "invalid_query", ""},
		"?tags_any=" + strings.Repeat("t", 2000): {422, "tag_too_long", "2000 bytes"},
	} {
		r := ask(query)
		if p := r.problem(t); r.StatusCode != want.status || p.Code != want.code || !strings.Contains(p.Detail, want.says) ||
			strings.Contains(p.Detail, "POST") {
			t.Errorf("%.60s: %d %s", query, r.StatusCode, r.body)
		}
	}
	if r := s.send(http.MethodDelete, "/v1/passages", `{"filter":{"tags_any":["a"]}}`, "Content-Type",
		schema.TypeJSON); r.problem(
		t,
	).Code != "unexpected_body" {
		t.Errorf("a body: %d %s", r.StatusCode, r.body)
	}
	p := ask("?tags_any=x,%20").problem(t)
	if len(p.Errors) != 1 || p.Errors[0].Pointer != "/tags_any/1" || p.Errors[0].Parameter != "tags_any" {
		t.Errorf("%+v", p)
	}
	if all, _ := s.jobs.Jobs(t.Context()); len(all) > 0 {
		t.Fatalf("jobs of what was refused: %+v", all)
	}

	r := ask("?tags_any=b%26%C3%A9,c%20d&tags_all=a")
	var j jobs.Job
	if err := json.Unmarshal(r.body, &j); err != nil || r.StatusCode != http.StatusAccepted ||
		r.Header.Get("Location") != "/v1/jobs/"+j.ID {
		t.Fatalf("%d %s %s", r.StatusCode, r.body, r.Header.Get("Location"))
	}
	if j.Kind != "delete_passages" || j.Name != "tags_all=a&tags_any=b%26%C3%A9,c+d" ||
		!slices.Equal(j.TagsAll, []string{"a"}) ||
		!slices.Equal(j.TagsAny, []string{"b&é", "c d"}) {
		t.Errorf("%+v", j)
	}
	if p := ask("?" + j.Name).problem(t); p.Code != "job_under_way" {
		t.Errorf("the same again: %+v", p)
	}
	var named jobs.Job
	if r := ask("?ids=.,..,b%26c"); json.Unmarshal(r.body, &named) != nil || named.Name != "ids=.,..,b%26c" ||
		!slices.Equal(named.IDs, []string{".", "..", "b&c"}) ||
		len(named.TagsAll)+len(named.TagsAny) > 0 {
		t.Errorf("by ids: %d %s", r.StatusCode, r.body)
	}
	if r := ask("?tags_all=a"); r.StatusCode != http.StatusAccepted {
		t.Errorf("another: %d %s", r.StatusCode, r.body)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.jobs.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	for !j.State.Ended() {
		r = s.send(http.MethodGet, "/v1/jobs/"+j.ID, "")
		if err := json.Unmarshal(r.body, &j); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(r.body), `"deleted":0`) {
		t.Errorf("that nothing was deleted is not said: %s", r.body)
	}
}
