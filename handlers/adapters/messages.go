package adapters

import (
	"strings"

	"example.org/conclave/search"
)

// appendQuery makes r ask a query. Without earlier messages, or if the query is blank, it sets r.Question. Otherwise it
// sets r.Messages to a new list: before, and the query as the user's last message.
func appendQuery(r *search.Request, query string, before []search.Message) {
	if len(before) == 0 || strings.TrimSpace(query) == "" { // which is refused, whatever was said before
		r.Question = query
		return
	}
	r.Messages = append(before[:len(before):len(before)], search.Message{Role: "user", Content: query})
}
