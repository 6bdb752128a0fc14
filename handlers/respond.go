package handlers

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
)

// respond sends body as JSON with this status. It encodes all of it first, when a processor is free, so that the length
// is known and a failure can still be answered as a problem. It returns the error of encoding or sending.
func (c *call) respond(status int, body any) error {
	var b bytes.Buffer
	if c.cost.Kind == front.KindProbing { // it is short, and waits for nobody
		if err := schema.Encode(&b, body); err != nil {
			return err
		}
		c.w.Header().Set("Cache-Control", "no-store")
		writeAnswer(c.w, status, schema.TypeJSON, b.Bytes())
		return nil
	}
	if err := c.encodeAnswer(&b, body); err != nil {
		return err
	}
	return c.sendText(status, schema.TypeJSON, b.Bytes())
}

// encodeAnswer replaces the content of into by the answer as JSON, when a processor is free (compute). If the answer's
// size was announced (SetExtra) and the engine took no memory for it, encodeAnswer takes that memory first. It fails if
// the request ends while it waits.
func (c *call) encodeAnswer(into *bytes.Buffer, answer any) error {
	ctx := c.r.Context()
	admitted := &front.ExchangeOf(ctx).Admitted
	admitted.Mu.Lock()
	none := admitted.Room.Bytes() == 0 && admitted.Extra > 0
	admitted.Mu.Unlock()
	if none {
		if err := c.api.admission.AnswerMemoryOf(c.r)(ctx, 0); err != nil {
			return err
		}
	}
	return c.compute(func() error { into.Reset(); return schema.Encode(into, answer) })
}

// small is the size, in bytes, up to which an answer takes no memory from the admission: a connection has as much.
const small = 4 << 10

// sendText sends an answer with this status and type. It first gives back the request's place, since a slow reader must
// not delay other requests. It returns a problem, with nothing sent, if there is no memory for the answer in time. An
// error of sending is only recorded for the log: the client may be gone.
func (c *call) sendText(status int, contentType string, text []byte) error {
	ctx := c.r.Context()
	a := c.api
	a.admission.ReleaseWork(ctx)
	if h := c.w.Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	admitted := &front.ExchangeOf(ctx).Admitted // which nobody else changes any more
	if admitted.Room.Bytes() == 0 && len(text) <= small {
		writeAnswer(c.w, status, contentType, text)
		return nil
	}
	if admitted.Room.Bytes() == 0 {
		waiting, cancel := context.WithTimeout(ctx, overload.SendWithin) // or less, where it has less time
		defer cancel()
		if err := a.admission.AnswerMemoryOf(c.r)(waiting, len(text)); errors.Is(err, context.DeadlineExceeded) {
			return front.NoMemoryLeft()
		} else if err != nil {
			return err
		}
	} else if p := a.admission.ShrinkAnswer(c.r, text); p != nil {
		return p
	}
	writeHeader(c.w, status, contentType, len(text))
	if err := a.admission.AnswerMemory.Send(c.w, text, admitted.Room.Bytes(), false); err != nil {
		front.ExchangeOf(ctx).Cause = err // the client may be gone
	}
	return nil
}

// writeAnswer sends a status, the body's type and length, and the body. Errors of sending are ignored.
func writeAnswer(w http.ResponseWriter, status int, contentType string, body []byte) {
	writeHeader(w, status, contentType, len(body))
	_, _ = w.Write(body) // the client may be gone
}

// writeHeader sets Content-Type, with charset=utf-8 for web pages, styles and scripts, and Content-Length, and sends
// the status unless it is 200, which net/http sends with the body.
func writeHeader(w http.ResponseWriter, status int, contentType string, length int) {
	h := w.Header()
	if contentType == schema.TypeHTML || contentType == "text/css" || contentType == "text/javascript" {
		contentType += "; charset=utf-8"
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(length))
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
}
