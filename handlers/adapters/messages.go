package adapters

import (
	"strings"

	"example.org/conclave/search"
)

// appendQuery sets r's question to a query; with earlier messages, and a query that is not blank, it sets r.Messages to
// a new list of these and the query instead.
func appendQuery(r *search.Request, query string, before []search.Message) {
	if len(before) == 0 || strings.TrimSpace(query) == "" { // which is refused, whatever was said before
		r.Question = query
		return
	}
	r.Messages = append(before[:len(before):len(before)], search.Message{Role: "user", Content: query})
}
