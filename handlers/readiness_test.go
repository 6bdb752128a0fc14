package handlers

import (
	"testing"

	"example.org/conclave/handlers/schema"
)

// TestWithoutPaths: what is told without a key has no absolute paths.
func TestWithoutPaths(t *testing.T) {
	for text, want := range map[string]string{
		"open /srv/data/index/seg-000001/passages: no such file":          "open passages: no such file",
		`reading "/var/lib/x/MANIFEST" (see /etc/conclave/conclave.yaml)`: `reading "MANIFEST" (see conclave.yaml)`,
		"/a/b":                             "b",
		"cause: /a/b/c, and/or 1/2; x/y":   "cause: c, and/or 1/2; x/y",
		"http://example.org/a/b and /docs": "http://example.org/a/b and /docs",
		`C:\Users\me\index is gone`:        "index is gone",
		"recall@10 is 0.9 of 1/1":          "recall@10 is 0.9 of 1/1",
	} {
		if got := WithoutPaths(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var r Readiness
	r.Set(schema.Component{Name: "a", Status: Failed, Detail: "lost /a/b", Warnings: []string{"see /c/d"}})
	if _, parts := r.report(); parts[0].Detail != "lost b" || parts[0].Warnings[0] != "see d" {
		t.Errorf("%+v", parts)
	}
}
