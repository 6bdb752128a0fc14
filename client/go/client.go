// Package client calls a conclave server from Go.
//
//	c := client.Client{Address: "http://127.0.0.1:8080", Key: os.Getenv("CONCLAVE_KEY")}
//	answer, err := c.Search(ctx, client.SearchRequest{Question: "why did the fox hide the moon?", K: 3})
//
// Requests that the server refuses because it has too much to do, and those that do not
// reach it, are repeated, after as long as it asks for; the context bounds that. An error
// answer is a *Problem. A Client may be used by several goroutines.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client is a server to call. Its methods are safe for concurrent use. An error that the server answers with is a
// *Problem; without an answer the error is a *url.Error. A request that was refused for now (429, 503) or got no answer
// is sent again, unless that could do something twice.
type Client struct {
	Address  string       // of the server: "http://127.0.0.1:8080"
	Key      string       // "": none is sent
	HTTP     *http.Client // nil: http.DefaultClient
	Attempts int          // how often a request is sent at most; 0: 4
}

// call is one request and what is read of its answer.
type call struct {
	method, path string
	query        url.Values
	body         any // sent as JSON, unless nil
	raw          []byte
	accept       string
	header       http.Header
	// once: it is not sent again when it may have arrived, since it would do
	// something twice.
	once bool
}

// do sends a request (send), reads the JSON answer into out unless that is nil, and returns the answer's header. out is
// unspecified after an error.
func (c *Client) do(ctx context.Context, r call, out any) (http.Header, error) {
	header, data, err := c.send(ctx, r)
	if err != nil || out == nil {
		return header, err
	}
	if err := decode(data, out); err != nil {
		return header, fmt.Errorf("%s did not answer as conclave does: %w", c.Address, err)
	}
	return header, nil
}

// decode reads one JSON value into out. Numbers in values of type any become json.Number, which keeps all digits. It
// fails if anything follows.
func decode(data []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows behind the JSON text")
	}
	return nil
}

// send sends a request at most Attempts times (0: four), with pauses, and returns the header and body of the last
// answer, or its error. It gives up early if ctx would end during a pause.
func (c *Client) send(ctx context.Context, r call) (http.Header, []byte, error) {
	var body []byte
	if r.body != nil {
		var err error
		body, err = json.Marshal(r.body)
		if err != nil {
			return nil, nil, fmt.Errorf("the request to %s cannot be written: %w", r.path, err)
		}
	}
	if r.raw != nil {
		body = r.raw
	}
	attempts := c.Attempts
	if attempts == 0 {
		attempts = 4
	}
	for attempt := 1; ; attempt++ {
		header, data, err := c.sendOnce(ctx, r, body)
		wait, again := retryPause(err, attempt, r.once)
		if !again || attempt >= attempts {
			return header, data, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return header, data, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return header, data, err
		}
	}
}

// retryPause returns how long to wait before a request that ended with err is sent again; again is false if it must not
// be. once says that the request must not be repeated if it may have arrived. attempt counts from 1.
func retryPause(err error, attempt int, once bool) (wait time.Duration, again bool) {
	var problem *Problem
	switch {
	case err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return 0, false
	case errors.As(err, &problem):
		// What is refused for now was not begun.
		if problem.Status != http.StatusTooManyRequests && problem.Status != http.StatusServiceUnavailable {
			return 0, false
		}
		wait = problem.RetryAfter
	case once || !errors.As(err, new(*url.Error)):
		return 0, false
	}
	if wait == 0 {
		wait = 100 * time.Millisecond << min(attempt, 5)
	}
	// Each caller waits a little longer by chance, so that they do not all come back at
	// once.
	return wait + time.Duration(rand.Float64()*0.2*float64(wait)), true
}

// sendOnce sends a request once and returns the header and the body of the answer. An answer that is not of the 2xx
// class is a *Problem. Without a whole answer the error is a *url.Error.
func (c *Client) sendOnce(ctx context.Context, r call, body []byte) (http.Header, []byte, error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	answer, err := c.openResponse(ctx, r, in)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return answer.Header, nil, &url.Error{Op: r.method, URL: r.path, Err: fmt.Errorf("the answer broke off: %w", err)}
	}
	if answer.StatusCode >= 300 {
		return answer.Header, nil, problemOf(answer, data)
	}
	return answer.Header, data, nil
}

// openResponse sends a request once and returns its answer, of any status. The caller closes the body. It fails if the
// address is invalid or no answer comes.
func (c *Client) openResponse(ctx context.Context, r call, in io.Reader) (*http.Response, error) {
	address := strings.TrimRight(c.Address, "/") + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, r.method, address, in)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w", c.Address, err)
	}
	for name, values := range r.header {
		request.Header[name] = values
	}
	if in != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.accept != "" {
		request.Header.Set("Accept", r.accept)
	}
	if c.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.Key)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	return h.Do(request)
}

// Problem is an error answer (RFC 9457). Code is stable and made for programs; Detail
// says what was wrong and what is allowed.
type Problem struct {
	Status     int     `json:"status"`
	Code       string  `json:"code"`
	Title      string  `json:"title"`
	Detail     string  `json:"detail"`
	RequestID  string  `json:"request_id"` // in the server's log
	Fields     []Field `json:"errors"`
	RetryAfter time.Duration
}

// Field is a part of a request that is wrong.
type Field struct {
	Pointer   string `json:"pointer"`   // JSON pointer into the body
	Parameter string `json:"parameter"` // of the query string
	Detail    string `json:"detail"`
}

// Error returns the status, the code and the detail.
func (p *Problem) Error() string {
	return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail)
}

// Code returns the code of the *Problem that err is or wraps; "" if it is none.
func Code(err error) string {
	var problem *Problem
	if errors.As(err, &problem) {
		return problem.Code
	}
	return ""
}

// problemOf returns the *Problem in an error answer. If a proxy gave the answer, Detail is its status and the beginning
// of its body.
func problemOf(answer *http.Response, data []byte) *Problem {
	p := &Problem{}
	if json.Unmarshal(data, p) != nil || p.Detail == "" {
		p.Detail = answer.Status + ": " + strings.TrimSpace(string(data[:min(len(data), 200)]))
	}
	p.Status = answer.StatusCode
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds >= 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}
