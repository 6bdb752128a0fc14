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

// addresses makes the addresses at which passages and documents can be read.
type addresses struct {
	base string // of the server
	// collection is the one that is asked, where the server has several; "": the server has one.
	collection string
}

// addressOf returns the addresses of a server that a request came in at.
func addressOf(r *http.Request, e handlers.Engine) addresses {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	a := addresses{base: scheme + r.Host + front.BasePath(r.Context())}
	if of, ok := e.(interface{ OneOfSeveral() bool }); ok && of.OneOfSeveral() {
		a.collection = collectionOf(e)
	}
	return a
}

// of returns where a passage can be read: the web address in its metadata, or that of its
// document, or else one of the server: of the page that shows the document, or of the passage. It is of a
// collection; "": of the one that is asked. Chatbots make a link of it.
func (a addresses) of(collection, id string, metadata map[string]any, at reply.Place) string {
	if own, ok := metadata["url"].(string); ok && isWebAddress(own) {
		return own
	}
	collection = cmp.Or(collection, a.collection)
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
