package handlers

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"net/http"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesAreKept: who has a page or the document already gets it again only
// when it is another one.
func TestPagesAreKept(t *testing.T) {
	s := start(t, Options{})
	versions := map[string]string{}
	for _, path := range []string{"/docs", "/docs/docs.css", "/docs/docs.js", "/docs/icon.svg", "/", "/guide/", "/guide/fusion", "/guide/contributions.svg", "/guide/guide.css", "/app/app.css", "/app/app.js", "/openapi.json", "/openapi.yaml"} {
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

// TestAppParts follows everything that the page at / loads, and what that loads: each
// part is served with its type, nothing comes from elsewhere, and all of it is small.
func TestAppParts(t *testing.T) {
	s := start(t, Options{})
	links := regexp.MustCompile(`(?:href|src)="(/(?:app|docs)/[^"]+)"|from "\./([^"]+)"`)
	translations := regexp.MustCompile("import\\(`\\./texts\\.\\$\\{language\\}\\.js`\\)")
	outside := regexp.MustCompile(`(?i)(?:href|src)="(?:https?:)?//|@import|url\(|import\(`)
	// Where a script itself came from, and what it has made itself.
	beside := regexp.MustCompile(`new URL\("\.[^":]*", import\.meta\.url\)|(?:create|revoke)ObjectURL\(`)
	var all bytes.Buffer
	queue, seen := []string{"/"}, map[string]bool{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		r := s.send(http.MethodGet, at, "")
		want := map[string]string{".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}[path.Ext(at)]
		if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), want) ||
			r.Header.Get("Content-Security-Policy") != pagePolicy {
			t.Errorf("%s: %d %v", at, r.StatusCode, r.Header)
		}
		text := string(r.body)
		if translations.MatchString(text) {
			text = translations.ReplaceAllString(text, "")
			queue = append(queue, "/app/texts.de.js", "/app/texts.es.js", "/app/texts.fr.js", "/app/texts.ja.js", "/app/texts.zh.js")
		}
		if found := outside.FindString(beside.ReplaceAllString(text, "")); found != "" {
			t.Errorf("%s loads something from elsewhere: %s", at, found)
		}
		all.WriteString(text)
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			queue = append(queue, cmp.Or(link[1], "/app/"+link[2]))
		}
	}
	if len(seen) < 12 {
		t.Errorf("only %d parts were found: %v", len(seen), seen)
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err := all.WriteTo(w); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if small.Len() > 220_000 {
		t.Errorf("the page takes %d bytes compressed: it may take 220,000", small.Len())
	}
	for _, path := range []string{"/app/none.js", "/app/..%2Fdocs.js", "/app/", "/app/%2e%2e"} {
		if r := s.send(http.MethodGet, path, ""); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// TestGuide follows every link of the guide from its first page: what it names on this
// server is there, with the anchor, nothing is loaded from elsewhere, every document is
// reached, and all of it is small.
func TestGuide(t *testing.T) {
	s := start(t, Options{})
	links := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	ids := regexp.MustCompile(` id="([^"]+)"`)
	from, text, queue := map[string]string{}, map[string]string{}, []string{"/guide/"}
	var all bytes.Buffer
	wanted := map[[2]string]string{} // a path and an anchor there, by who names it
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if _, seen := text[at]; seen {
			continue
		}
		r := s.send(http.MethodGet, at, "")
		text[at] = string(r.body)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s, of which %s tells: %d", at, from[at], r.StatusCode)
		}
		if !strings.HasPrefix(at, "/guide/") {
			continue
		}
		if r.Header.Get("Content-Security-Policy") != pagePolicy {
			t.Errorf("%s: %v", at, r.Header)
		}
		all.Write(r.body)
		if path.Ext(at) != "" {
			continue
		}
		if strings.Contains(text[at], "style=") || strings.Contains(text[at], "<script") ||
			strings.Contains(text[at], `src="http`) {
			t.Errorf("%s has what the policy forbids", at)
		}
		seen := map[string]bool{}
		for _, id := range ids.FindAllStringSubmatch(text[at], -1) {
			if seen[id[1]] {
				t.Errorf("%s has two elements %s", at, id[1])
			}
			seen[id[1]] = true
		}
		for _, link := range links.FindAllStringSubmatch(text[at], -1) {
			to, anchor, anchored := strings.Cut(link[1], "#")
			to, _, _ = strings.Cut(cmp.Or(to, at), "?")
			if anchored {
				wanted[[2]string{to, anchor}] = at
			}
			if !strings.HasPrefix(to, "/") {
				t.Errorf("%s leads away, to %s", at, link[1])
				continue
			}
			queue = append(queue, to)
			from[to] = at
		}
	}
	for place, at := range wanted {
		if !strings.Contains(text[place[0]], ` id="`+place[1]+`"`) {
			t.Errorf("%s leads to %s#%s, which is not there", at, place[0], place[1])
		}
	}
	documents, err := filepath.Glob("../docs/*.md")
	figures, also := filepath.Glob("../docs/evidence/*.md")
	if err != nil || also != nil || len(documents) < 15 || len(figures) < 7 {
		t.Fatalf("%d documents, %d of figures, %v, %v", len(documents), len(figures), err, also)
	}
	for _, document := range append(documents, figures...) {
		name := strings.TrimSuffix(strings.TrimPrefix(document, "../docs/"), ".md")
		if name == "README" {
			name = ""
		}
		if text["/guide/"+name] == "" {
			t.Errorf("docs/README.md does not list %s", document)
		}
	}
	if text["/openapi.yaml"] == "" {
		t.Error("no page links to /openapi.yaml")
	}
	for _, document := range figures { // which were once in docs itself
		name := strings.TrimSuffix(filepath.Base(document), ".md")
		if r := s.send(http.MethodGet, "/guide/"+name, ""); string(r.body) != text["/guide/evidence/"+name] {
			t.Errorf("/guide/%s: %d, and not the page /guide/evidence/%s", name, r.StatusCode, name)
		}
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	if _, err := all.WriteTo(w); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	t.Logf("the guide has %d bytes compressed", small.Len())
	if small.Len() > 222_000 {
		t.Errorf("the guide takes %d bytes compressed: it may take 222,000", small.Len())
	}
	if r := s.send(http.MethodGet, "/guide/nothing", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("/guide/nothing: %d", r.StatusCode)
	}
}
