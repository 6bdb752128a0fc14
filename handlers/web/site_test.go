package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestSiteInBrowser: where hosts are allowed, the page takes the address of a site, says what became of it, and results
// lead to the passage on its page, as testdata/site.mjs says.
func TestSiteInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := map[string]string{
			"/docs/":          `<title>Guide</title><main><h1>Guide</h1><p>About the hive. <a href="bees.html">Bees</a> <a href="/">Home</a></p></main>`,
			"/docs/bees.html": `<title>Bees</title><main><h1>Bees</h1><p>Bees dance to tell the way.</p></main>`,
		}[r.URL.Path]
		if page == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, page)
	}))
	t.Cleanup(web.Close)
	server := realclients.Server(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		c.Documents.Hosts = []string{strings.TrimPrefix(web.URL, "http://")}
		c.Documents.Networks = []string{"127.0.0.1/32"}
		c.Documents.Site.Rate = 1000
	}})
	t.Log(realclients.Run(t, realclients.Command{
		Interpreter: node,
		Args:        []string{filepath.Join("testdata", "site.mjs")},
		Env:         []string{"SERVER=" + server, "SITE=" + web.URL},
	}))
}
