package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
)

// postBatch answers POST /v1/search/batch. It sends one answer after the other, in the order of the searches. If the
// client reads slowly, the engine keeps at most Limits.BatchParallel rankings back and reads the texts of one at a
// time. Searches that are not finished when the batch's time is over get a problem in their places.
func (a *API) postBatch(c *call) error {
	limits := a.options.Limits
	if !c.mayNameCollections() {
		engine, err := c.admittedEngine()
		if err != nil {
			return err
		}
		limits = engine.Limits()
	}
	body, err := c.readJSON()
	if err != nil {
		return err
	}
	err = c.computeBody(func() error {
		found := schema.Checker{Most: schema.MaxViolations}
		found.Check(c.operation.Body, body, "")
		if p := found.Problem(); p != nil {
			return p
		}
		return nil
	})
	if err != nil {
		return err
	}
	items, _ := body.(map[string]any)["searches"].([]any)
	if most := limits.Batch; len(items) > most {
		return schema.NewProblem(
			"batch_too_large",
			fmt.Sprintf("There are %d searches; at most %d are taken in one request.", len(items), most),
			schema.ProblemField{Pointer: "/searches", Detail: fmt.Sprintf("has %d items", len(items))},
		)
	}
	if p := c.shortenDeadline(body); p != nil {
		return p
	}
	b := &batch{
		api:      a,
		w:        c.w,
		r:        c.r,
		clock:    c.clock,
		most:     limits.AnswerBytes,
		left:     limits.AnswerBytes,
		problems: make([]*schema.Problem, len(items)),
	}
	var runs []*collectionRun
	if err := c.computeBody(func() error { runs = b.splitRuns(c, limits, items); return nil }); err != nil {
		return err
	}
	for _, r := range runs {
		if err := b.searchRun(c, r, len(items)); err != nil {
			return err
		}
	}
	err = b.Finish()
	front.ExchangeOf(c.r.Context()).Note(slog.Int("searches", len(items)), slog.Int("failed", b.failed))
	return b.endWith(err)
}

// endWith returns err, which becomes the problem of the whole batch. If part of the answer was sent already, it aborts
// the connection instead, unless err is nil.
func (b *batch) endWith(err error) error {
	if err != nil && b.begun {
		return abortConnection(b.r.Context(), err)
	}
	return err
}

// collectionRun is a sequence of consecutive searches of a batch over the same collections.
type collectionRun struct {
	names    []string // nil: that of requests which name none
	items    []int
	requests []search.Request
}

// splitRuns returns the valid searches of a batch as runs over the same collections, and records the problems of the
// others.
func (b *batch) splitRuns(c *call, limits search.Limits, items []any) (all []*collectionRun) {
	for i, item := range items {
		var names []string
		request, p := searchRequest(limits, item, max(1, 5*schema.MaxViolations/len(items)))
		switch {
		case p != nil:
		case c.mayNameCollections():
			names, p = takeCollections(&request)
		default:
			p = c.api.ownCollections(&request)
		}
		b.problems[i] = p
		if b.problems[i] != nil {
			continue
		}
		if len(all) == 0 || !slices.Equal(all[len(all)-1].names, names) {
			all = append(all, &collectionRun{names: names})
		}
		last := all[len(all)-1]
		last.items, last.requests = append(last.items, i), append(last.requests, request)
	}
	return all
}

// searchRun answers the searches of run r of a batch of all searches. If the run cannot be started, the problem becomes
// that of its searches and the error is nil; if the run is the whole batch, the problem is returned.
func (b *batch) searchRun(c *call, r *collectionRun, all int) error {
	api := c.api
	before := len(c.ends)
	defer func() {
		c.api = api
		for _, end := range c.ends[before:] { // the next run may be of many others
			end()
		}
		c.ends = c.ends[:before]
	}()
	var err error
	if c.mayNameCollections() {
		err = c.openCollections(r.names)
	}
	var engine *admittedEngine
	if err == nil {
		engine, err = c.admittedEngine()
	}
	if err == nil {
		err = engine.Batch(c.clock.ctx, search.Caller{}, r.requests, b.deliver)
	}
	var refused *schema.Problem
	if len(r.items) < all && errors.As(err, &refused) && !b.isAnswered(r.items[0]) {
		for _, i := range r.items {
			b.problems[i] = refused
		}
		return nil
	}
	return b.endWith(err)
}

// isAnswered reports whether the search with this index in the batch was answered.
func (b *batch) isAnswered(item int) bool { return b.next > item }

// shortenDeadline ends a batch earlier if its body has a timeout_ms. It returns a problem if that is no whole number or
// more than the server's limit. Without a timeout_ms, or with one that is not a number, it does nothing.
func (c *call) shortenDeadline(body any) *schema.Problem {
	given, ok := body.(map[string]any)["timeout_ms"].(json.Number)
	if !ok {
		return nil
	}
	most := c.api.options.Timeout
	n, err := given.Int64()
	if err != nil || n > most.Milliseconds() {
		return schema.NewProblem(
			"out_of_range", fmt.Sprintf("/timeout_ms is %s; it may be at most %d.", given, most.Milliseconds()),
			schema.ProblemField{Pointer: "/timeout_ms", Detail: fmt.Sprintf("is more than %d", most.Milliseconds())},
		)
	}
	c.clock.shorten(time.Duration(n)*time.Millisecond, time.Since(front.ExchangeOf(c.r.Context()).Arrived))
	return nil
}

// abortConnection ends a connection whose answer could not be sent whole, so that half an answer is not taken for a
// whole one. It records err for the log and never returns: it panics with http.ErrAbortHandler.
func abortConnection(ctx context.Context, err error) error {
	x := front.ExchangeOf(ctx)
	x.Left(err)
	panic(http.ErrAbortHandler)
}

// batch is the answer of a batch on its way out.
type batch struct {
	api   *API
	w     http.ResponseWriter
	r     *http.Request
	clock *workClock

	problems []*schema.Problem // of the searches that are not asked, nil for the others
	next     int               // the search that is answered next
	most     int               // bytes that the answers may have together
	left     int               // of them
	failed   int
	begun    bool // the header has been sent
}

// deliver sends the answer to the next search that was asked, and before it the problems of those that were not. If the
// search failed, or its answer is too large or too late, it sends a problem in its place and returns the error of
// sending. It returns an error, with which the batch ends, if the caller has gone or the answer cannot be sent.
func (b *batch) deliver(answer search.Answer) error {
	if err := b.r.Context().Err(); err != nil {
		return err // the caller has gone
	}
	if err := b.sendRefusals(); err != nil {
		return err
	}
	if answer.Err != nil {
		p := problemOf(b.r.Context(), answer.Err)
		front.ExchangeOf(b.r.Context()).Cause = p.Cause
		return b.sendRefusal(p)
	}
	answer.Response.RequestID = front.ExchangeOf(b.r.Context()).RequestID
	defer b.api.admission.ReleaseAnswer(b.r.Context())
	var line bytes.Buffer
	err := b.api.encodeInTurn(b.clock.ctx, &line, answer.Response)
	if err != nil && b.clock.hasEnded() {
		return b.sendRefusal(schema.NewProblem("deadline", schema.Sentence(search.BatchOver)))
	}
	if err != nil {
		return err
	}
	text := line.Bytes()
	if len(text) > b.left {
		return b.sendRefusal(
			schema.NewProblem(
				"answer_too_large",
				fmt.Sprintf(
					"The answers of the whole batch have more than %d bytes (limits.answer_bytes) with this one. Send fewer searches at once, or name in fields only what you need.",
					b.most,
				),
			),
		)
	}
	b.left -= len(text)
	if p := b.api.admission.ShrinkAnswer(b.r, text); p != nil {
		return b.sendRefusal(p)
	}
	return b.sendAnswer(text)
}

// sendRefusals sends the problems of the searches that come next and were not asked, up to the next one that was. It
// returns the error of sending.
func (b *batch) sendRefusals() error {
	for b.next < len(b.problems) && b.problems[b.next] != nil {
		if err := b.sendRefusal(b.problems[b.next]); err != nil {
			return err
		}
	}
	return nil
}

// sendRefusal answers the next search with a copy of p, whose fields are located in the batch (/searches/3/k), and
// counts it as failed. It returns the error of sending.
func (b *batch) sendRefusal(p *schema.Problem) error {
	b.failed++
	addressed := *p
	addressed.Errors = nil
	for _, field := range p.Errors {
		field.Pointer = "/searches/" + strconv.Itoa(b.next) + field.Pointer
		addressed.Errors = append(addressed.Errors, field)
	}
	addressed.RequestID = front.ExchangeOf(b.r.Context()).RequestID
	var line bytes.Buffer
	if err := schema.Encode(&line, &addressed); err != nil { // it is short
		return err
	}
	return b.sendAnswer(line.Bytes())
}

// sendAnswer sends text, one JSON value, as the answer to the next search; before the first it sends the header and the
// beginning of the JSON. Meanwhile the batch's clock stands still and its place counts as idle. It returns the error of
// sending.
func (b *batch) sendAnswer(text []byte) error {
	before := ","
	if !b.begun {
		b.begun = true
		b.w.Header().Set("Content-Type", schema.TypeJSON)
		b.w.Header().Set("Cache-Control", "no-store")
		before = `{"answers":[`
	}
	b.next++
	admitted := &front.ExchangeOf(b.r.Context()).Admitted // nothing is asked meanwhile
	if place := admitted.CurrentPlace(); place != nil {
		defer place.Idle()() // nobody computes while it is sent
	}
	defer b.clock.pause()()
	if _, err := b.w.Write([]byte(before)); err != nil {
		return err
	}
	return b.api.admission.AnswerMemory.Send(b.w, text, admitted.Room.Bytes(), true)
}

// Finish sends the problems of the searches after the last answer, and closes the JSON of the answer. It returns the
// error of sending.
func (b *batch) Finish() error {
	if err := b.sendRefusals(); err != nil {
		return err
	}
	_, err := b.w.Write([]byte("]}\n"))
	return err
}
