package handlers

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/handlers/upload"
)

// readJSON reads the whole body and returns the parsed JSON. It returns a problem if the body is too large, not valid
// JSON, or arrives too slowly, or if the request is refused (readBody).
func (c *call) readJSON() (parsed any, err error) {
	body, _, err := c.readText(c.api.options.BodyBytes)
	if err != nil {
		return nil, err
	}
	err = c.computeBody(func() error {
		var p *schema.Problem
		parsed, p = schema.ParseJSON(body)
		if p != nil {
			return p
		}
		return nil
	})
	return parsed, err
}

// readText reads a whole body of JSON of at most this many bytes, and takes memory for its values. It returns the text
// and about how many values it has, or a problem (readBody). The JSON is not checked.
func (c *call) readText(most int64) (body []byte, values int, err error) {
	body, err = c.readBody(most)
	if err != nil {
		return nil, 0, err
	}
	c.bodyBytes = len(body)
	if err := c.computeBody(func() error { values = schema.CountValues(body); return nil }); err != nil {
		return nil, 0, err
	}
	if p := c.api.admission.TakeValueMemory(c.r.Context(), values); p != nil {
		return nil, 0, p
	}
	return body, values, nil
}

// turnBytes is the size of a body above which parsing it waits for a processor. A smaller one is parsed at once.
const turnBytes = 4 << 10

// firstRead is the memory, in bytes, that is taken for a body before any of it arrived.
const firstRead = 4 << 10

// readBody reads the whole body, of at most this many bytes, and then admits the request (admit). Before that the
// request holds only memory for the bytes that came, so that slow senders delay nobody. It returns a problem if the
// body is too large, incomplete or too slow, there is no memory for it, or the request is refused.
func (c *call) readBody(most int64) ([]byte, error) {
	a, w, r := c.api, c.w, c.r
	tooLarge := schema.NewProblem("body_too_large", fmt.Sprintf("A body may have %d bytes.", most))
	if r.ContentLength > most {
		return nil, tooLarge
	}
	from := http.MaxBytesReader(w, r.Body, most)
	var body []byte
	for {
		if len(body) == cap(body) {
			room := max(firstRead, 2*cap(body))
			if p := a.admission.TakeBodyMemory(r.Context(), room-cap(body)); p != nil {
				return nil, p
			}
			body = append(make([]byte, 0, room), body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		var over *http.MaxBytesError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return body, c.admit(time.Now())
		case errors.As(err, &over):
			return nil, tooLarge
		default:
			if p := upload.TooSlow(err); p != nil {
				w.Header().Set("Connection", "close")
				return nil, p
			}
			return nil, schema.NewProblem("incomplete_body", "The body ended before its declared length, or is malformed.").Because(err)
		}
	}
}
