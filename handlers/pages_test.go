package handlers

import (
	"net/http"
	"strings"
	"testing"
)

// TestPagesAreKept: who has a page or the document already gets it again only
// when it is another one.
func TestPagesAreKept(t *testing.T) {
	s := start(t, Options{})
	versions := map[string]string{}
	for _, path := range []string{"/docs", "/docs/docs.css", "/docs/docs.js", "/docs/icon.svg", "/openapi.json", "/openapi.yaml"} {
		first := s.send(http.MethodGet, path, "", "Accept-Encoding", "identity")
		version := first.Header.Get("ETag")
		if first.StatusCode != http.StatusOK || len(version) != 34 || first.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v", path, first.StatusCode, first.Header)
		}
		if other := versions[version]; other != "" {
			t.Errorf("%s and %s have one version", path, other)
		}
		versions[version] = path
		packed := s.send(http.MethodGet, path, "", "Accept-Encoding", "gzip").Header.Get("ETag")
		for header, want := range map[string]int{
			version: 304, packed: 304, "W/" + version: 304, `"other", ` + version: 304, "*": 304,
			`"other"`: 200, strings.Trim(version, `"`): 200, "": 200,
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				r := s.send(method, path, "", "If-None-Match", header)
				if r.StatusCode != want || want == 304 && (len(r.body) != 0 || r.Header.Get("ETag") == "") {
					t.Errorf("%s %s with %s: %d with %d bytes, want %d", method, path, header, r.StatusCode, len(r.body), want)
				}
			}
		}
	}
}
