package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Suggestion is a text that may be meant by what somebody began to type.
type Suggestion struct {
	Text string `json:"text"`
	// Kind is "document" for a title, "heading", or "word" for what was typed with its last word completed.
	Kind     string `json:"kind"`
	Passages int    `json:"passages"` // that have it
	// Corrected says that a word was typed otherwise.
	Corrected bool `json:"corrected,omitempty"`
}

// Suggest returns completions of what somebody begins to type, at most limit (0: the server's default), the likeliest
// first. They are titles and headings of the passages that the client's key may see. The error is a *Problem if the
// server refuses.
func (c *Client) Suggest(ctx context.Context, typed string, limit int) ([]Suggestion, error) {
	query := url.Values{"q": {typed}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var out struct{ Suggestions []Suggestion }
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/suggest", query: query}, &out)
	return out.Suggestions, err
}
