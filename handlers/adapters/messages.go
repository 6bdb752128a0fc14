package adapters

import (
	"strings"

	"example.org/conclave/search"
)

// behind puts a query into a request: behind the messages before it, where there are some, as their last.
func behind(r *search.Request, query string, before []search.Message) {
	if len(before) == 0 || strings.TrimSpace(query) == "" { // which is refused, whatever was said before
		r.Question = query
		return
	}
	r.Messages = append(before[:len(before):len(before)], search.Message{Role: "user", Content: query})
}
