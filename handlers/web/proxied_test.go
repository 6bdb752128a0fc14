package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestUnderPathInBrowser: page, reference, guide, OpenAPI and MCP of a server that is
// reached under a path, behind a proxy that leaves the path in requests, and behind one
// that takes it off and says so.
func TestUnderPathInBrowser(t *testing.T) {
	pinned(t)
	const base = "/tools/conclave"
	node, _ := realclients.Node(t)
	for what, c := range map[string]struct {
		change func(*configs.Config)
		takes  bool
	}{
		"left":      {func(c *configs.Config) { c.Server.BasePath = base }, false},
		"taken off": {func(c *configs.Config) { c.Server.TrustedProxies = []string{"127.0.0.0/8"} }, true},
	} {
		t.Run(what, func(t *testing.T) {
			server := realclients.Server(
				t, realclients.ServerOptions{Passages: realclients.Demo(t, "tales", "health"), Change: c.change},
			)
			at, err := url.Parse(server)
			if err != nil {
				t.Fatal(err)
			}
			proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host = at.Scheme, at.Host
				if c.takes {
					r.Out.URL.Path = strings.TrimPrefix(r.Out.URL.Path, base)
					r.Out.URL.RawPath = strings.TrimPrefix(r.Out.URL.RawPath, base)
					r.Out.Header.Set("X-Forwarded-Prefix", base)
				}
			}}
			// Nothing else of the proxy's is the server's: what misses the path is not found.
			mux := http.NewServeMux()
			mux.Handle(base+"/", proxy)
			front := httptest.NewServer(mux)
			defer front.Close()
			t.Log(
				realclients.Run(
					t,
					realclients.Command{
						Interpreter: node,
						Args:        []string{filepath.Join("testdata", "based.mjs")},
						Env:         []string{"SERVER=" + front.URL + base},
					},
				),
			)
		})
	}
}

// TestOpenAIInBrowser: OpenAI's client, in a page of an origin that is configured, embeds
// texts; in a page of another origin the browser keeps it from doing so.
func TestOpenAIInBrowser(t *testing.T) {
	pinned(t)
	node, modules := realclients.Node(t)
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(
			w,
			`<!doctype html><title>an app</title><script type="module">import OpenAI from "/openai/index.mjs"; window.OpenAI = OpenAI;</script>`,
		)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", page)
	mux.Handle("/openai/", http.StripPrefix("/openai/", http.FileServer(http.Dir(filepath.Join(modules, "openai")))))
	app, other := httptest.NewServer(mux), httptest.NewServer(mux)
	defer app.Close()
	defer other.Close()
	const secret = "key-of-an-app"
	server := realclients.Server(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		c.Server.CORSOrigins = []string{app.URL}
		c.Auth.Keys = []configs.Key{key("app", secret, "embed")}
	}})
	t.Log(
		realclients.Run(t, realclients.Command{Interpreter: node, Args: []string{filepath.Join("testdata", "openai.mjs")},
			Env: []string{"SERVER=" + server, "APP=" + app.URL, "OTHER=" + other.URL, "KEY=" + secret}}),
	)
}
