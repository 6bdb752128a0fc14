package handlers

import (
	"net/http"
	"strings"
	"testing"
)

// TestUnderBasePath: requests with the path and without it come to the same, addresses in
// answers begin with it, and what a caller or an untrusted proxy says of it does not count.
func TestUnderBasePath(t *testing.T) {
	const base = "/tools/conclave"
	own := startWriting(t, writingOptions{Options: Options{BasePath: base}})
	trusted := startWriting(t, writingOptions{Options: Options{TrustedProxies: []string{"127.0.0.0/8"}}})
	other := startWriting(t, writingOptions{Options: Options{TrustedProxies: []string{"10.0.0.0/8"}}})
	get := func(s *writingServer, path string, header ...string) (int, string, http.Header) {
		t.Helper()
		request, err := http.NewRequest(http.MethodGet, "http://"+s.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			request.Header.Add(header[i], header[i+1])
		}
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := readAll(response)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text), response.Header
	}
	for _, path := range []string{base + "/docs", "/docs", base + "/", base + "/guide/"} {
		if status, text, _ := get(own, path); status != http.StatusOK ||
			!strings.Contains(text, `href="`+base+`/docs/icon.svg"`) ||
			strings.Contains(text, `"/docs`) {
			t.Errorf("%s: %d %.300s", path, status, text)
		}
	}
	if status, _, header := get(own, base+"?q=a%20b"); status != http.StatusPermanentRedirect ||
		header.Get("Location") != base+"/?q=a%20b" {
		t.Errorf("without the slash: %d %q", status, header.Get("Location"))
	}
	if status, text, _ := get(own, base+"/v1/passages/a%2Fb"); status != http.StatusNotFound ||
		!strings.Contains(text, `"type":"`+base+`/docs#problem-unknown_passage"`) ||
		!strings.Contains(text, "a/b") {
		t.Errorf("an escaped id: %d %s", status, text)
	}
	if status, _, _ := get(own, base+"other/livez"); status != http.StatusNotFound {
		t.Errorf("beside the path: %d", status)
	}
	for prefix, want := range map[string]string{"/a": "/a", "/a/b/": "/a/b", "": "", "a": "", "/a/../b": "", "//a": "", `/"x`: "", "/a?b": "", "https://x": ""} {
		if _, text, _ := get(trusted, "/docs", "X-Forwarded-Prefix", prefix); !strings.Contains(
			text,
			`href="`+want+`/docs/icon.svg"`,
		) {
			t.Errorf("X-Forwarded-Prefix %q: %.300s", prefix, text)
		}
		if _, text, _ := get(other, "/docs", "X-Forwarded-Prefix", prefix); !strings.Contains(text, `href="/docs/icon.svg"`) {
			t.Errorf("of a stranger, X-Forwarded-Prefix %q: %.300s", prefix, text)
		}
	}
	for _, name := range []string{"/openapi.json", "/openapi.yaml"} {
		_, plain, _ := get(other, name)
		_, text, _ := get(trusted, name, "X-Forwarded-Prefix", "/a/b")
		if len(text) != len(plain)+len("/a/b")-1 ||
			!strings.Contains(strings.NewReplacer(`"`, "", " ", "").Replace(text), "url:/a/b") {
			t.Errorf("%s does not name the server under its path", name)
		}
	}
}

// TestPreflight: a page of a listed origin may send headers of any name.
func TestPreflight(t *testing.T) {
	s := start(t, Options{CORSOrigins: []string{"https://app.example"}})
	for origin, want := range map[string]bool{"https://app.example": true, "https://other.example": false} {
		r := s.send(
			http.MethodOptions,
			"/v1/embed",
			"",
			"Origin",
			origin,
			"Access-Control-Request-Method",
			"POST",
			"Access-Control-Request-Headers",
			"authorization,content-type,x-stainless-lang,x-stainless-retry-count",
		)
		if allowed := strings.Contains(strings.ToLower(r.Header.Get("Access-Control-Allow-Headers")), "x-stainless-retry-count") && r.Header.Get("Access-Control-Allow-Origin") == origin; allowed != want {
			t.Errorf("%s: %d %v", origin, r.StatusCode, r.Header)
		}
	}
}
