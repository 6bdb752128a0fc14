package web_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/handlers/web"
	"example.org/conclave/internal/testing/realclients"
)

// TestEmbedInBrowser: embed.js shows answers in a page of an origin that is configured, which has its own styles and a
// policy against inline scripts; in a page of another origin, and for a key beyond its rate, it says that it cannot.
func TestEmbedInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	var script string
	page := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		policy := "default-src 'none'; style-src 'self'; script-src " + script + "; connect-src " + script
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = fmt.Fprintf(w, `<!doctype html><title>a site</title><link rel="stylesheet" href="/site.css"><main></main>
<script src="%s/embed.js" data-key="%s" data-target="main" data-label="Ask the tales" data-results="2"></script>`,
			script, r.URL.Query().Get("key"))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", page)
	mux.HandleFunc("/site.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		_, _ = fmt.Fprint(w, "input { font-size: 77px }")
	})
	app, other := httptest.NewServer(mux), httptest.NewServer(mux)
	defer app.Close()
	defer other.Close()
	limited := key("limited", "limited-key", "search")
	limited.RequestsASecond = .001
	script = realclients.Server(t, realclients.ServerOptions{
		Real: true, Passages: realclients.Demo(t, "encyclopedia", "tales"),
		Change: func(c *configs.Config) {
			c.Server.CORSOrigins = []string{app.URL}
			c.Auth.Keys = []configs.Key{key("site", "key-of-a-site", "search"), limited}
		},
	})
	t.Log(
		realclients.Run(t, realclients.Command{Interpreter: node, Args: []string{filepath.Join("testdata", "embed.mjs")},
			Env: []string{
				"SERVER=" + script, "APP=" + app.URL, "OTHER=" + other.URL, "KEY=key-of-a-site", "LIMITED=limited-key",
			}}),
	)
}

// TestEmbedIsSmall: a site that takes the script loads less than 30 kB.
func TestEmbedIsSmall(t *testing.T) {
	text, err := fs.ReadFile(web.Files(), "embed.js")
	if err != nil || len(text) >= 30_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
