package handlers

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// Problem is an error answer after RFC 9457, application/problem+json. Code is
// stable and made for programs; Detail says what was wrong and what is
// allowed; RequestID is the one in the log.
type Problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail"`
	Code      string         `json:"code"`
	RequestID string         `json:"request_id,omitempty"`
	Errors    []ProblemField `json:"errors,omitempty"`

	// Components is there in what /readyz says while it is not ready.
	Components []Component `json:"components,omitempty"`

	retryAfter int   // seconds; 0: no Retry-After
	cause      error // for the log alone
	allow      string
	challenge  string
}

// ProblemField points at one part of the request that is wrong.
type ProblemField struct {
	Pointer   string `json:"pointer"`             // JSON pointer into the body: "/experts/1"
	Parameter string `json:"parameter,omitempty"` // name of the query parameter
	Detail    string `json:"detail"`
}

// Error makes a Problem an error, so that handlers return it.
func (p *Problem) Error() string {
	if p.cause != nil {
		return p.Detail + ": " + p.cause.Error()
	}
	return p.Detail
}

func (p *Problem) Unwrap() error { return p.cause }

// newProblem returns a Problem of one of the document's codes.
func newProblem(code, detail string, fields ...ProblemField) *Problem {
	c := conditionOf(code)
	return &Problem{
		Type: "/docs#problem-" + c.Code, Title: c.Title, Status: c.Status, Code: c.Code, Detail: detail,
		Errors: fields, retryAfter: c.RetryAfter,
	}
}

// UnknownKey reports whether a key came along that is not known, or not any more.
func (p *Problem) UnknownKey() bool { return strings.Contains(p.challenge, invalidToken) }

func (p *Problem) because(cause error) *Problem {
	p.cause = cause
	return p
}

// writeProblem answers with a problem. It is the only way in which this
// package answers with an error.
func writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	x := exchangeOf(r.Context())
	x.code, x.cause = p.Code, p.cause
	q := *p
	q.Type = BasePath(r.Context()) + q.Type
	q.RequestID = x.requestID
	status := q.Status
	contentType := typeProblem
	answer := any(&q)
	if x.refusal != nil {
		contentType = typeJSON
		status, answer = x.refusal(&q)
	}
	body, _ := json.Marshal(answer) // it has nothing that cannot be marshalled
	h := w.Header()
	// What was meant for the good answer is wrong for this one.
	for _, name := range []string{"Etag", "Last-Modified", "Content-Encoding", "Server-Timing"} {
		h.Del(name)
	}
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	if q.retryAfter > 0 && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(q.retryAfter))
	}
	if q.allow != "" {
		h.Set("Allow", q.allow)
	}
	if q.challenge != "" {
		h.Set("WWW-Authenticate", q.challenge)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
