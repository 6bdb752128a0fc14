package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Health is whether a server is ready for questions.
type Health struct {
	URL    string          `json:"url"`
	Ready  bool            `json:"ready"`
	Status int             `json:"status,omitempty"` // of HTTP
	Answer json.RawMessage `json:"answer,omitempty"` // of /readyz: its components, or the problem
	Error  string          `json:"error,omitempty"`  // where there was no answer
}

// mostHealth bounds an answer of /readyz, in bytes; what is longer is another server's.
const mostHealth = 1 << 20

// Health asks /readyz once whether the server is ready. The error says why it is not, and is nil only if it is; found
// is filled in as far as is known.
func (c *Client) Health(ctx context.Context) (found Health, err error) {
	found.URL = c.Address
	defer func() {
		if err != nil && found.Answer == nil {
			found.Error = err.Error()
		}
	}()
	answer, err := c.openResponse(ctx, call{method: http.MethodGet, path: "/readyz"}, nil)
	if err != nil {
		return found, fmt.Errorf("no answer from %s: %w", c.Address, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostHealth))
	if err != nil {
		return found, fmt.Errorf("reading the answer of %s: %w", c.Address, err)
	}
	found.Status = answer.StatusCode
	if !json.Valid(body) {
		return found, fmt.Errorf("%s answers %s, and not as conclave does: is it another server?", c.Address, answer.Status)
	}
	found.Answer = body
	found.Ready = answer.StatusCode == http.StatusOK
	if !found.Ready {
		return found, fmt.Errorf("%s is not ready: %s: %s", c.Address, answer.Status, problemOf(answer, body).Detail)
	}
	return found, nil
}
