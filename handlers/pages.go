package handlers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"

	"conclave/web"
)

// pagePolicy lets the pages load their own parts and call their own server,
// and nothing else: no inline script, no other host, no frame around them.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// getPage serves one embedded file.
func getPage(name, contentType string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		text, err := fs.ReadFile(web.Files(), name)
		if err != nil {
			return fmt.Errorf("reading the page %s: %w", name, err)
		}
		w.Header().Set("Content-Security-Policy", pagePolicy)
		writeOnce(w, r, contentType, text)
		return nil
	}
}

// writeOnce answers with a text that changes with the program alone: a browser
// keeps it, asks each time whether it is still the same, and gets it again
// when it is not.
func writeOnce(w http.ResponseWriter, r *http.Request, contentType string, text []byte) {
	sum := sha256.Sum256(text)
	version := hex.EncodeToString(sum[:16])
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if matches(r.Header.Values("If-None-Match"), version) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	write(w, contentType, text)
}

// getOpenAPI serves the OpenAPI document.
func (a *API) getOpenAPI(contentType string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		text := a.openapi.json
		if contentType == typeYAML {
			text = a.openapi.yaml
		}
		writeOnce(w, r, contentType, text)
		return nil
	}
}

// getHome sends people who type the bare address to the reference page.
func getHome(w http.ResponseWriter, r *http.Request) error {
	http.Redirect(w, r, "/docs", http.StatusSeeOther)
	return nil
}
