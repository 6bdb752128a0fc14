package handlers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

const typeEvents = "text/event-stream"

// wantsEvents reports whether the caller prefers server-sent events to JSON.
func wantsEvents(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return accept != "" && acceptQuality(accept, typeEvents) > acceptQuality(accept, schema.TypeJSON)
}

// eventStream sends an answer as server-sent events (WHATWG HTML, section 9.2) while it is made: "passages" with the
// response before anything is generated, "token" with each further piece of generated text, and "response" with the
// whole response. An error after the first event is sent as "problem".
type eventStream struct {
	c     *call
	ctx   context.Context
	begun bool
	sent  int // bytes of the generated text
	err   error
}

// tokenEvent is the data of the event "token".
type tokenEvent struct {
	Text string `json:"text"`
}

// streamSearch asks the engine and sends the response as events. Its error has to be answered as a problem: no event
// was sent. Later errors are sent as an event or, if the client is gone, logged; it then returns nil.
func (e *eventStream) streamSearch(engine Engine, request search.Request) (reply.Response, error) {
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	requestID := front.ExchangeOf(ctx).RequestID
	response, err := engine.Search(ctx, search.Caller{Watching: search.Watchers{
		Found: func(r reply.Response) error {
			r = e.c.api.withoutStages(ctx, r)
			r.RequestID = requestID
			return e.sendEvent("passages", r)
		},
		Written: func(text string) {
			if e.sendEvent("token", tokenEvent{text[e.sent:]}) != nil {
				cancel() // nobody reads what would be written
			}
			e.sent = len(text)
		},
	}}, request)
	if err == nil {
		response.RequestID = requestID
		err = e.sendEvent("response", response)
	}
	if err != nil && e.begun && e.err == nil {
		p := *problemOf(e.ctx, err)
		p.RequestID = requestID
		x := front.ExchangeOf(ctx)
		x.Code, x.Cause = p.Code, p.Cause
		_ = e.sendEvent("problem", &p)
		return response, nil
	}
	if e.err != nil {
		front.ExchangeOf(ctx).Left(e.err)
		return response, nil
	}
	return response, err
}

// streamAdapter sends the values that make passes to send as events, and "[DONE]" at the end. An error of make is
// returned if no event was sent, and else sent in the format of the adapter's errors.
func (e *eventStream) streamAdapter(x *Adapter, make func(send func(value any) error) error) error {
	err := make(func(value any) error {
		name := ""
		if named, ok := value.(NamedEvent); ok {
			name = named.EventName()
		}
		return e.sendEvent(name, value)
	})
	if err != nil && e.err == nil && e.begun && x.Refusal != nil {
		p := problemOf(e.ctx, err)
		at := front.ExchangeOf(e.ctx)
		at.Code, at.Cause = p.Code, p.Cause
		_, body := x.Refusal(p)
		err = e.sendEvent("", body)
	}
	switch {
	case !e.begun:
		return err
	case e.err != nil:
		front.ExchangeOf(e.ctx).Left(e.err)
		return nil
	}
	if _, err := io.WriteString(e.c.w, "data: [DONE]\n\n"); err != nil {
		front.ExchangeOf(e.ctx).Left(err)
	}
	return nil
}

// sendEvent sends one event with data as JSON. It returns the first error of sending, also in later calls. The client
// has overload.SendWithin to take an event.
func (e *eventStream) sendEvent(name string, data any) error {
	if e.err != nil {
		return e.err
	}
	var line bytes.Buffer // which ends with a line's end
	if err := e.c.api.encodeInTurn(e.c.r.Context(), &line, data); err != nil {
		return err
	}
	w := e.c.w
	if h := w.Header(); !e.begun {
		e.begun = true
		h.Set("Content-Type", typeEvents)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		h.Set(gzhttp.HeaderNoCompression, "1") // which would hold small events back
	}
	control := http.NewResponseController(w)
	e.err = control.SetWriteDeadline(time.Now().Add(overload.SendWithin))
	if name != "" {
		name = "event: " + name + "\n"
	}
	if e.err == nil {
		_, e.err = fmt.Fprintf(w, "%sdata: %s\n", name, line.Bytes())
	}
	if e.err == nil {
		e.err = control.Flush()
	}
	if slow := overload.Slow("the events were not taken in time", e.err); slow != nil {
		e.err = slow
	}
	return e.err
}
