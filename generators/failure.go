package generators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"example.org/conclave/endpoints"

	"github.com/openai/openai-go/v3"
)

// mostRepeated is the largest number of bytes of a server's text in an error.
const mostRepeated = 500

// explain returns an *endpoints.Error with the reason of a failed request in words, without the key, which some servers
// repeat. It returns the error of ctx if ctx has ended.
func (m *Model) explain(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err() // whoever asked says how much time there was
	}
	message := cause.Error()
	if m.endpoint.Key != "" {
		message = strings.ReplaceAll(message, m.endpoint.Key, "…")
	}
	out := &endpoints.Error{Err: errors.New(cutText(message, mostRepeated))}
	var refused *openai.Error
	var network net.Error
	switch {
	case errors.As(cause, &refused):
		switch code := refused.StatusCode; {
		case code == http.StatusUnauthorized || code == http.StatusForbidden:
			out.Reason = "the model's server refused the key that is configured for it"
			if m.endpoint.Key == "" {
				out.Reason = "the model's server wants a key, and none is configured for it"
			}
		case code == http.StatusNotFound:
			out.Reason = fmt.Sprintf("the model's server has no model %q, or no chat interface at its address", m.endpoint.Model)
		case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
			out.Reason = "the model's server has too much to do; try again in a moment"
			out.Busy = true
		case code >= http.StatusInternalServerError:
			out.Reason = fmt.Sprintf("the model's server failed (status %d)", code)
		default:
			out.Reason = fmt.Sprintf("the model's server refused the request (status %d)", code)
		}
	case errors.As(cause, &network), errors.Is(cause, io.ErrUnexpectedEOF):
		out.Reason = "the model's server cannot be reached, or broke the connection"
	default:
		out.Reason = "the model's server answered in a way that is not understood"
	}
	return out
}
