package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"example.org/conclave/internal/overload"
)

// Encode writes a value as one line of JSON.
func Encode(into *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(into)
	encoder.SetEscapeHTML(false) // it is JSON, says its type, and may not be sniffed
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("marshalling the answer: %w", err)
	}
	return nil
}

// respond answers with JSON, marshalled when a processor is free: that of a thousand
// passages takes milliseconds. It is marshalled before anything is sent, so that what
// cannot be marshalled is still a problem, and the length is known.
func (c *call) respond(status int, body any) error {
	var b bytes.Buffer
	if c.cost.kind == probing { // it is short, and waits for nobody
		if err := Encode(&b, body); err != nil {
			return err
		}
		c.w.Header().Set("Cache-Control", "no-store")
		write(c.w, status, typeJSON, b.Bytes())
		return nil
	}
	if err := c.encode(&b, body); err != nil {
		return err
	}
	return c.send(status, typeJSON, b.Bytes())
}

// encode writes an answer as JSON, in turn. Memory is taken before, where it was said how
// much the answer takes and the engine took none.
func (c *call) encode(into *bytes.Buffer, answer any) error {
	ctx := c.r.Context()
	held := &exchangeOf(ctx).admitted
	held.mu.Lock()
	none := held.room.Bytes() == 0 && held.extra > 0
	held.mu.Unlock()
	if none {
		if err := c.api.answerMemoryOf(c.r)(ctx, 0); err != nil {
			return err
		}
	}
	return c.compute(func() error { into.Reset(); return Encode(into, answer) })
}

// small is an answer that needs no memory of its own: a connection has as much.
const small = 4 << 10

// send sends an answer. What the request was made with is given back before: how
// slowly its answer is read is no matter of others.
func (c *call) send(status int, contentType string, text []byte) error {
	ctx := c.r.Context()
	a := c.api
	a.releaseWork(ctx)
	if h := c.w.Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	held := &exchangeOf(ctx).admitted // which nobody else changes any more
	if held.room.Bytes() == 0 && len(text) <= small {
		write(c.w, status, contentType, text)
		return nil
	}
	if held.room.Bytes() == 0 {
		waiting, cancel := context.WithTimeout(ctx, overload.SendWithin) // or less, where it has less time
		defer cancel()
		if err := a.answerMemoryOf(c.r)(waiting, len(text)); errors.Is(err, context.DeadlineExceeded) {
			return noMemoryLeft()
		} else if err != nil {
			return err
		}
	} else if p := a.shrink(c.r, text); p != nil {
		return p
	}
	head(c.w, status, contentType, len(text))
	if err := a.answerMemory.Send(c.w, text, held.room.Bytes(), false); err != nil {
		exchangeOf(ctx).cause = err // the client may be gone
	}
	return nil
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	head(w, status, contentType, len(body))
	_, _ = w.Write(body) // the client may be gone
}

// head writes the header of an answer of some length.
func head(w http.ResponseWriter, status int, contentType string, length int) {
	h := w.Header()
	if contentType == typeHTML || contentType == "text/css" || contentType == "text/javascript" {
		contentType += "; charset=utf-8"
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(length))
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
}
