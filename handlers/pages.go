package handlers

import (
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
	return func(w http.ResponseWriter, _ *http.Request) error {
		text, err := fs.ReadFile(web.Files(), name)
		if err != nil {
			return fmt.Errorf("reading the page %s: %w", name, err)
		}
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Cache-Control", "no-cache")
		write(w, contentType, text)
		return nil
	}
}

// getOpenAPI serves the OpenAPI document.
func (a *API) getOpenAPI(contentType string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Cache-Control", "no-cache")
		if contentType == typeYAML {
			write(w, typeYAML, a.openapi.yaml)
		} else {
			write(w, typeJSON, a.openapi.json)
		}
		return nil
	}
}

// getHome sends people who type the bare address to the reference page.
func getHome(w http.ResponseWriter, r *http.Request) error {
	http.Redirect(w, r, "/docs", http.StatusSeeOther)
	return nil
}
