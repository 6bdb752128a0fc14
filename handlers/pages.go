package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/handlers/web"
)

// pagePolicy lets the pages load their own parts and call their own server,
// and nothing else: no inline script, no other host, no frame around them.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// GuideSearcher finds passages of the guide for a question, the best first, at most k.
type GuideSearcher interface {
	SearchGuide(ctx context.Context, question string, k int) ([]web.Finding, error)
}

// guideSearchPath is the path of the guide's search, and guideResults the most passages that it shows.
const (
	guideSearchPath = "/guide/search"
	guideResults    = 8
)

// webPage is one file of the web pages. openapi.yaml does not describe these.
type webPage struct {
	path, file, contentType string
	text                    func() ([]byte, error) // returns the page; nil: it is the content of file
	shared                  bool                   // pages of other origins may load it
}

// webPages returns the page at /, the API reference at /docs, the guide, and the files that these load. It fails if the
// embedded files of the guide cannot be read.
func webPages() ([]webPage, error) {
	all := []webPage{
		{path: front.EmbedPath, file: "embed.js", contentType: "text/javascript", shared: true},
		{path: "/", file: "index.html", contentType: schema.TypeHTML},
		{path: "/docs", file: "docs.html", contentType: schema.TypeHTML},
		{path: "/docs/docs.css", file: "docs.css", contentType: "text/css"},
		{path: "/docs/docs.js", file: "docs.js", contentType: "text/javascript"},
		{path: "/docs/icon.svg", file: "icon.svg", contentType: "image/svg+xml"},
		{path: "/guide/guide.css", file: "guide.css", contentType: "text/css"},
	}
	guide, err := web.Guide()
	if err != nil {
		return nil, err
	}
	for _, d := range guide {
		all = append(all, webPage{path: d.Path, contentType: d.ContentType, text: d.Text})
		if d.Path == "/guide/" {
			all = append(all, webPage{path: "/guide", contentType: d.ContentType, text: d.Text})
		}
	}
	parts, err := fs.Glob(web.Files(), "app/*")
	if err != nil {
		return nil, fmt.Errorf("listing the page's parts: %w", err)
	}
	for _, file := range parts {
		contentType := "text/javascript"
		if path.Ext(file) == ".css" {
			contentType = "text/css"
		}
		all = append(all, webPage{path: "/" + file, file: file, contentType: contentType})
	}
	return all, nil
}

// serveFile answers with one embedded file. It fails if the file cannot be read.
func (p webPage) serveFile(_ *API, c *call) error {
	read := p.text
	if read == nil {
		read = func() ([]byte, error) { return fs.ReadFile(web.Files(), p.file) }
	}
	text, err := read()
	if err != nil {
		return fmt.Errorf("reading the page %s: %w", p.path, err)
	}
	if p.shared {
		c.w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	return c.showPage(p.contentType, text)
}

// showPage answers with a file of the web pages: an HTML page with its links under the server's base path, a style, or
// a script. It sets the pages' Content-Security-Policy. It fails if sending does.
func (c *call) showPage(contentType string, text []byte) error {
	if contentType == schema.TypeHTML {
		text = linkUnder(text, front.BasePath(c.r.Context()))
	}
	c.w.Header().Set("Content-Security-Policy", pagePolicy)
	return c.sendOnce(contentType, text)
}

// getGuideSearch answers GET /guide/search with a page of the guide's passages that answer the question q; an empty one
// has no results. It returns a problem if the search fails.
func (a *API) getGuideSearch(c *call) error {
	question := strings.TrimSpace(c.r.URL.Query().Get("q"))
	var found []web.Finding
	if question != "" {
		var err error
		found, err = a.options.Guide.SearchGuide(c.r.Context(), question, guideResults)
		if err != nil {
			return err
		}
	}
	text, err := web.GuideResults(question, found)
	if err != nil {
		return err
	}
	return c.showPage(schema.TypeHTML, text)
}

// sendOnce answers with a text that changes only with the program's version. It sends an ETag, and answers 304 without
// the text if the client's If-None-Match has it. It fails if the request ends before a processor is free, or the text
// cannot be sent.
func (c *call) sendOnce(contentType string, text []byte) error {
	w, r := c.w, c.r
	var sum [sha256.Size]byte
	if err := c.compute(func() error { sum = sha256.Sum256(text); return nil }); err != nil {
		return err
	}
	version := hex.EncodeToString(sum[:16])
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if matchesVersion(r.Header.Values("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return c.sendText(http.StatusOK, contentType, text)
}
