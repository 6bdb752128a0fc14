package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/cmd/internal/cli"
)

// TestIndexSite builds a collection of a site, asks it a question whose result leads to the passage on its page, and
// makes it follow the site: with each command that a guide names.
func TestIndexSite(t *testing.T) {
	t.Chdir(t.TempDir())
	var mu sync.Mutex
	pages := map[string]string{
		"/robots.txt":         "User-agent: *\nDisallow: /docs/secret/\n",
		"/docs/":              `<title>Guide</title><h1>Guide</h1><p>All about the hive.</p><a href="bees.html">x</a><a href="hours.txt">x</a><a href="secret/">x</a><a href="old.html">x</a><a href="/blog/">x</a>`,
		"/docs/bees.html":     "<title>Bees</title><h1>Bees</h1><p>Bees dance to tell the others the way to the flowers.</p>",
		"/docs/old.html":      "<title>Old</title><h1>Old</h1><p>What the hive was like in the year before the last.</p>",
		"/docs/hours.txt":     "The shop is open from nine to five.",
		"/docs/shell.html":    `<div id="app"></div><script src="app.js"></script>`,
		"/docs/unlinked.html": "<p>Nobody links to this page.</p>",
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		page, found := pages[r.URL.Path]
		mu.Unlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".txt") {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		}
		_, _ = fmt.Fprint(w, page)
	}))
	defer web.Close()
	change := func(path, page string) {
		mu.Lock()
		defer mu.Unlock()
		if page == "" {
			delete(pages, path)
		} else {
			pages[path] = page
		}
	}
	type report struct {
		Passages                            int
		Added, Replaced, Removed, Unchanged int
		Sites                               []siteReport
		Unread                              []unreadFile
	}
	index := func(want int, more ...string) (r report, complaints string) {
		t.Helper()
		args := []string{
			"index", "--collection", "docs", "--in", web.URL + "/docs/", "--experts", "none", "--documents-site-rate", "1000",
			"--exclude", "/docs/old", "--json",
		}
		code, out, complaints := conclave(t, append(args, more...)...)
		if code != want {
			t.Fatalf("%q: exit code %d, %s", more, code, complaints)
		}
		if want == cli.ExitOK {
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		return r, complaints
	}
	r, complaints := index(cli.ExitOK)
	if r.Passages != 3 || len(r.Sites) != 1 || r.Sites[0].Pages != 3 ||
		!containsAll(complaints, []string{"forbidden by robots.txt: 1", "outside of the site: 1", "patterns to include and exclude: 1"}) {
		t.Errorf("%+v %s", r, complaints)
	}
	code, out, complaints := conclave(t, "search", "--collection", "docs", "--json", "how do bees tell the way?")
	var found struct{ Results []struct{ ID, Link string } }
	if err := json.Unmarshal([]byte(out), &found); code != cli.ExitOK || err != nil || len(found.Results) == 0 {
		t.Fatalf("%d %v %s %s", code, err, out, complaints)
	}
	want := web.URL + "/docs/bees.html#:~:text=Bees%20dance%20to%20tell%20the%20others%20the%20way%20to%20the%20flowers."
	if first := found.Results[0]; first.ID != web.URL+"/docs/bees.html#1" || first.Link != want {
		t.Errorf("%+v", first)
	}

	if r, _ := index(cli.ExitOK, "--sync"); r.Unchanged != 3 || r.Added+r.Replaced+r.Removed != 0 {
		t.Errorf("nothing changed: %+v", r)
	}
	change("/docs/bees.html", "<title>Bees</title><p>Bees do not dance any more.</p><a href=shell.html>x</a>")
	change("/docs/hours.txt", "")
	r, _ = index(cli.ExitOK, "--sync")
	scripted := len(r.Unread) > 1 && strings.Contains(r.Unread[0].Detail, "built by scripts")
	if r.Replaced != 1 || r.Removed != 0 || !scripted {
		t.Errorf("a page changed, one is gone, one is built by scripts: %+v", r)
	}
	r, _ = index(cli.ExitOK, "--sync")
	if r.Removed != 1 {
		t.Errorf("absent twice: %+v", r)
	}
	// A program of the configuration renders it.
	renderer := filepath.Join(t.TempDir(), "renderer")
	script := "#!/bin/sh\necho \"<p>The shop sells honey. $(cat $1)</p>\" >$2/page.html\n"
	settings := fmt.Sprintf("documents: {converters: [{ending: .url, command: \"%s {in} {dir}\"}]}\n", renderer)
	if err := errors.Join(
		os.WriteFile(renderer, []byte(script), 0o755), os.WriteFile("conclave.yaml", []byte(settings), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	r, _ = index(cli.ExitOK, "--sync", "--config", "conclave.yaml")
	if r.Added != 1 || len(r.Unread) == 0 || !strings.Contains(r.Unread[0].Detail, "which a program has run") {
		t.Errorf("with a renderer: %+v", r)
	}
	change("/robots.txt", "User-agent: conclave\nDisallow: /docs/\n")
	_, complaints = index(cli.ExitFailed, "--sync")
	if !strings.Contains(complaints, "nothing of it is changed") {
		t.Errorf("forbidden: %s", complaints)
	}
	for _, bad := range [][]string{
		{"index", "--collection", "docs", "--in", "https://user:secret@docs.example.org/"},
		{"index", "--collection", "docs", "--in", "x.md", "--depth", "3"},
		{"index", "--collection", "docs", "--in", web.URL, "--pages", "0"},
	} {
		if code, _, complaints := conclave(t, bad...); code != cli.ExitUsage || strings.Contains(complaints, "secret") {
			t.Errorf("%q: exit code %d, %s", bad, code, complaints)
		}
	}
}
