package adapters

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/search/reply"
)

// addressBook makes the web addresses of passages and documents.
type addressBook struct {
	base string // of the server
	// collection is the one that is asked, where the server has several; "": the server has one.
	collection string
}

// addressOf returns the address book for a request: with the address of the server that its client used.
func addressOf(r *http.Request, e handlers.Engine) addressBook {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	a := addressBook{base: scheme + r.Host + front.BasePath(r.Context())}
	if engine, ok := e.(interface{ OneOfSeveral() bool }); ok && engine.OneOfSeveral() {
		a.collection = collectionOf(e)
	}
	return a
}

// addressOf returns the web address of a passage: the one in its metadata (url), or its document's, or else the
// server's page of the document or of the passage. collection "" is the one that was asked.
func (a addressBook) addressOf(collection, id string, metadata map[string]any, at reply.Place) string {
	if own, ok := metadata["url"].(string); ok && isWebAddress(own) {
		return own
	}
	collection = cmp.Or(collection, a.collection)
	if at.Link != "" {
		return at.Link
	}
	if at.Document != nil {
		if isWebAddress(at.Document.Source) {
			return at.Document.Source
		}
		place := url.Values{"document": {at.Document.ID}}
		if begin, known := metadata["begin"]; known {
			place.Set("at", fmt.Sprint(begin)) // in bytes, whatever is asked for
		}
		if collection != "" {
			place.Set("collections", collection)
		}
		return a.base + "/?" + place.Encode()
	}
	root := "/v1"
	if collection != "" {
		root = "/v1/collections/" + url.PathEscape(collection)
	}
	return a.base + root + "/passages/" + url.PathEscape(id)
}
