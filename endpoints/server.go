// Package endpoints asks models behind HTTP interfaces: for vectors of texts (OpenAI's interface, Text Embeddings
// Inference's and Cohere's), and for scores of passages (Cohere's, Jina's and Text Embeddings Inference's rerank).
//
// Texts, keys and what servers write about texts are in no error: errors are logged.
package endpoints

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// The interfaces.
const (
	OpenAI = "openai" // POST ADDRESS/embeddings, also of Ollama, vLLM, LiteLLM and others
	TEI    = "tei"    // Text Embeddings Inference: POST ADDRESS/embed, and ADDRESS/rerank
	Cohere = "cohere" // version 2: POST ADDRESS/embed, and ADDRESS/rerank, which Jina has too
)

// Server is where a model is, and how it is asked.
type Server struct {
	Interface string
	Address   string // such as https://api.openai.com/v1
	Model     string
	Key       string        // "": none is sent
	Timeout   time.Duration // of one request
}

// client sends requests to a Server.
type client struct {
	server Server
	http   *http.Client
	// unix nanoseconds before which nothing is sent, since the server said so (Retry-After)
	notBefore atomic.Int64
}

// newClient returns a client, without asking the server for anything. It follows no redirections, so that nothing goes
// to another address. It fails if the address is not one of http or https.
func newClient(s Server) (*client, error) {
	u, err := url.Parse(s.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the address %q is none of http or https, such as http://127.0.0.1:11434/v1", s.Address)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = mostRequests
	transport.MaxResponseHeaderBytes = mostHeader
	return &client{server: s, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Host returns the host of an address, with its port if it has one; the address itself if it cannot be parsed.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// The largest numbers of bytes that are read of the header of an answer, and of the body of one that is an error.
const (
	mostHeader  = 64 << 10
	mostRefusal = 64 << 10
)

// post sends a request as JSON and decodes the answer into out. It reads at most most bytes of an answer, and waits at
// most the server's Timeout. With harmless, errors have the server's message: the request has no texts of a user. The
// error is an *Error, or ctx's.
func (c *client) post(ctx context.Context, path string, in, out any, most int64, harmless bool) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if err := c.awaitTurn(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, c.server.Timeout)
	defer cancel()
	address := strings.TrimSuffix(c.server.Address, "/") + path
	request, err := http.NewRequestWithContext(within, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.server.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.server.Key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.failedRequest(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, mostRefusal))
		refused := c.refusal(response, text, harmless)
		if refused.After > 0 {
			c.notBefore.Store(time.Now().Add(refused.After).UnixNano())
		}
		return refused
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return c.failedRequest(ctx, err)
	case int64(len(answer)) > most:
		return notUnderstood("it is longer than %d bytes", most)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return notUnderstood("%s", withoutValues(err))
	}
	return nil
}

// awaitTurn waits until the server takes requests again, if it asked for a pause. It returns ctx's error if that ends
// first.
func (c *client) awaitTurn(ctx context.Context) error {
	wait := time.Until(time.Unix(0, c.notBefore.Load()))
	if c.notBefore.Load() == 0 || wait <= 0 {
		return ctx.Err()
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return &Error{Reason: "its server asked for a pause", Busy: true, Again: true}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failedRequest returns the *Error of a request without a whole answer; ctx's error if that has ended.
func (c *client) failedRequest(ctx context.Context, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := &Error{Reason: "its server cannot be reached, or broke the connection", Again: true, Err: cause}
	if errors.Is(cause, context.DeadlineExceeded) {
		out.Reason = fmt.Sprintf("its server did not answer within %v", c.server.Timeout)
		out.Late = true
	}
	return out
}
