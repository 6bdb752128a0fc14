package handlers

import (
	"encoding/json"
	"slices"
	"testing"

	"example.org/conclave/internal/jobs"
)

// TestPostSite: pages are added only of hosts that the administrator has allowed, by addresses without passwords, and
// become a job that has the address in its one form.
func TestPostSite(t *testing.T) {
	o := writingOptions{kinds: map[string]jobs.Handler{jobs.ReadSite: {}}}
	o.Write.Hosts = []string{"docs.example.org", "*.example.com", "wiki.example.net:8443"}
	s := startWriting(t, o)
	post := func(body string) received { return s.post("/v1/documents?tags=a,b", body) }
	for body, code := range map[string]string{
		`{"url":"https://elsewhere.example/"}`:                  "host_not_allowed",
		`{"url":"https://docs.example.org.elsewhere.example/"}`: "host_not_allowed",
		`{"url":"https://docs.example.org:8080/"}`:              "host_not_allowed",
		`{"url":"https://example.com/"}`:                        "host_not_allowed",
		`{"url":"http://169.254.169.254/latest/meta-data/"}`:    "host_not_allowed",
		`{"url":"https://docs.example.org@elsewhere.example/"}`: "invalid_document",
		`{"url":"https://user:secret@docs.example.org/"}`:       "invalid_document",
		`{"url":"file:///etc/passwd"}`:                          "invalid_document",
		`{"url":"docs.example.org"}`:                            "invalid_document",
		`{"url":""}`:                                            "invalid_document",
		`{"url":"https://docs.example.org/","pages":0}`:         "out_of_range",
		`{"url":"https://docs.example.org/","follow":true}`:     "unknown_field",
		`{"site":true}`: "missing_field",
		`{"url":"https://docs.example.org/","exclude":["/a",""]}`:  "out_of_range",
		`{"url":"https://docs.example.org/","site":"yes please"}`:  "wrong_type",
		`["https://docs.example.org/"]`:                            "wrong_type",
		`{"url":"https://docs.example.org/"`:                       "not_json",
		`{"url":"https://docs.example.org/","url":"https://a.b/"}`: "duplicate_key",
	} {
		if p := post(body).problem(t); p.Code != code {
			t.Errorf("%s: %s, want %s", body, p.Code, code)
		}
	}
	p := s.post("/v1/documents?prefix=a/", `{"url":"https://docs.example.org/"}`).problem(t)
	if p.Code != "unused_option" {
		t.Errorf("a prefix: %+v", p)
	}
	var job jobs.Job
	r := post(`{"url":"HTTPS://Docs.Example.org:443/a/../guide/#top","site":true,"exclude":["/old/"],"depth":3}`)
	if err := json.Unmarshal(r.body, &job); err != nil || r.StatusCode != 202 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if job.Kind != jobs.ReadSite || job.Name != "https://docs.example.org/guide/" || job.Site == nil || !job.Site.Whole ||
		job.Site.Depth != 3 || job.Site.Pages != 0 || !slices.Equal(job.Tags, []string{"a", "b"}) {
		t.Errorf("%+v", job)
	}
	for _, url := range []string{"http://a.example.com/", "https://a.b.example.com/x", "https://wiki.example.net:8443/"} {
		if r := post(`{"url":"` + url + `"}`); r.StatusCode != 202 {
			t.Errorf("%s: %d %s", url, r.StatusCode, r.body)
		}
	}
	var limits Limits
	s.asked(200, &limits, "GET", "/v1/limits", "")
	if !slices.Equal(limits.Hosts, o.Write.Hosts) {
		t.Errorf("limits: %q", limits.Hosts)
	}
}
