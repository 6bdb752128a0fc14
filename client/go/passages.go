package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// Passage is a piece of text that can be an answer, usually 40 to 200 words.
type Passage struct {
	ID    string   `json:"id"`
	Title string   `json:"title,omitempty"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags,omitempty"`
	// Metadata is flat: strings, booleans and numbers. Numbers that the server sends are
	// json.Number, so that none loses a digit.
	Metadata map[string]any `json:"metadata,omitempty"`
	// Where it stands in its document, as the server gives it; what is sent of it is passed over.
	Place
	Begin *int `json:"begin,omitempty"` // bytes of the document's text
	End   *int `json:"end,omitempty"`
}

// Written says what became of a passage.
type Written struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // "created", "replaced", "unchanged", "deleted"; in an upload "rejected"
	Version string `json:"version"`
	// Truncated: an expert reads only the beginning. Unread: one can hardly read it.
	Truncated bool `json:"truncated"`
	Unread    bool `json:"unread"`
	// Warnings are what was left out of a document.
	Warnings []string `json:"warnings"`
}

// Write says how a passage is written. The zero value writes in any case, and returns
// when the passage would survive a power cut.
type Write struct {
	IfVersion string // only if this is the stored version
	IfAbsent  bool   // only if there is none
	Visible   bool   // return when searches see it
}

// call returns the request that writes the passage with this id under these conditions. A conditional request is not
// repeated, since it would find its own change.
func (w Write) call(method, id string, body any) call {
	r := call{method: method, path: passagePath(id), body: body, header: http.Header{}, query: url.Values{}}
	if w.IfVersion != "" {
		r.header.Set("If-Match", `"`+w.IfVersion+`"`)
	}
	if w.IfAbsent {
		r.header.Set("If-None-Match", "*")
	}
	if w.Visible {
		r.query.Set("refresh", "wait")
	}
	// Sent again, it would find its own change.
	r.once = w.IfVersion != "" || w.IfAbsent
	return r
}

// passagePath returns the path of a passage.
func passagePath(id string) string { return "/v1/passages/" + url.PathEscape(id) }

// Passage returns a passage and its version, for Write.IfVersion. The code of the error is unknown_passage if there is
// none.
func (c *Client) Passage(ctx context.Context, id string) (out Passage, version string, err error) {
	header, err := c.do(ctx, call{method: http.MethodGet, path: passagePath(id)}, &out)
	if err != nil {
		return out, "", err
	}
	// A proxy or a compression may mark it.
	version = strings.TrimSuffix(strings.Trim(strings.TrimPrefix(header.Get("ETag"), "W/"), `"`), "-gzip")
	return out, version, nil
}

// Put creates or replaces the passage with p.ID. It fails if a condition of w is not met. The code of the error is then
// version_mismatch.
func (c *Client) Put(ctx context.Context, p Passage, w Write) (out Written, err error) {
	_, err = c.do(ctx, w.call(http.MethodPut, p.ID, p), &out)
	return out, err
}

// Delete deletes the passage with this id. It fails if a condition of w is not met. The code of the error is then
// version_mismatch; unknown_passage if there is none.
func (c *Client) Delete(ctx context.Context, id string, w Write) (out Written, err error) {
	_, err = c.do(ctx, w.call(http.MethodDelete, id, nil), &out)
	return out, err
}

// Passages returns all passages that searches see, in the order of their ids, over several requests. After an error it
// yields nothing more. The next request is sent when the passages of the one before were taken.
func (c *Client) Passages(ctx context.Context) iter.Seq2[Passage, error] {
	return c.PassagesThatMeet(ctx, Condition{})
}

// PassagesThatMeet returns the passages that meet a condition, in the order of their ids, over several requests: the
// next one is sent when the passages of the one before were taken. The zero Condition is met by all. After an error it
// yields nothing more.
func (c *Client) PassagesThatMeet(ctx context.Context, only Condition) iter.Seq2[Passage, error] {
	return func(yield func(Passage, error) bool) {
		query := url.Values{}
		condition, err := json.Marshal(only)
		if err != nil {
			yield(Passage{}, err)
			return
		}
		if string(condition) != "{}" {
			query.Set("filter", string(condition))
		}
		for {
			var page struct {
				Passages []Passage
				Next     string
			}
			if _, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/passages", query: query}, &page); err != nil {
				yield(Passage{}, err)
				return
			}
			for _, p := range page.Passages {
				if !yield(p, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			query.Set("after", page.Next)
		}
	}
}

// Uploaded is what became of one line of an upload.
type Uploaded struct {
	Line int `json:"line"` // from 1
	Written
	Err           *Problem `json:"error"`          // why it was rejected
	UnknownFields []string `json:"unknown_fields"` // that no line before had; they were left out
}

// Upload sends passages, a line of JSON each, and yields the outcome of each line while more are sent. A bad line has
// Err set and does not stop the others. The iteration ends after an error; if that is a *Problem, its Detail says with
// which line to begin again. An upload is sent once, and lines is closed if it is an io.Closer. With visible, it ends
// only when searches see all of it.
func (c *Client) Upload(ctx context.Context, lines io.Reader, visible bool) iter.Seq2[Uploaded, error] {
	return func(yield func(Uploaded, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		query := url.Values{"stream": {"true"}}
		if visible {
			query.Set("refresh", "wait")
		}
		answer, err := c.openResponse(ctx, call{method: http.MethodPost, path: "/v1/passages", query: query,
			header: http.Header{"Content-Type": {"application/x-ndjson"}}}, lines)
		if err != nil {
			yield(Uploaded{}, err)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode >= 300 && !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/x-ndjson") {
			data, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
			yield(Uploaded{}, problemOf(answer, data))
			return
		}
		for in := bufio.NewReader(answer.Body); ; {
			text, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return
			}
			var line struct {
				Uploaded
				Code   string
				Detail string
			}
			if err == nil || errors.Is(err, io.EOF) {
				err = json.Unmarshal(text, &line)
			}
			if err != nil {
				yield(Uploaded{}, fmt.Errorf("the answer of %s broke off: %w", c.Address, err))
				return
			}
			if line.Code != "" {
				problem := &Problem{}
				_ = json.Unmarshal(text, problem)
				problem.Detail = fmt.Sprintf("line %d: %s", line.Line, problem.Detail)
				yield(Uploaded{Line: line.Line}, problem)
				return
			}
			if !yield(line.Uploaded, nil) {
				return
			}
		}
	}
}

// Lines returns passages as JSON lines, for Upload. Upload reads it to its end or closes it; any other reader must
// close it, since a goroutine writes it.
func Lines(passages iter.Seq[Passage]) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		encoder := json.NewEncoder(w)
		for p := range passages {
			if err := encoder.Encode(p); err != nil {
				_ = w.CloseWithError(err)
				return
			}
		}
		_ = w.Close()
	}()
	return r
}
