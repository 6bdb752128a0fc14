package schema

import (
	"net/http"
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

	RetryAfter int    `json:"-"` // seconds, of the header Retry-After; 0: none
	Cause      error  `json:"-"` // the error behind it, for the log alone; nil: none
	Allow      string `json:"-"` // of the header Allow; "": none
	Challenge  string `json:"-"` // of the header WWW-Authenticate; "": none
}

// ProblemField points at one part of the request that is wrong.
type ProblemField struct {
	Pointer   string `json:"pointer"`             // JSON pointer into the body: "/experts/1"
	Parameter string `json:"parameter,omitempty"` // name of the query parameter
	Detail    string `json:"detail"`
}

// Error makes a Problem an error, so that handlers return it.
func (p *Problem) Error() string {
	if p.Cause != nil {
		return p.Detail + ": " + p.Cause.Error()
	}
	return p.Detail
}

func (p *Problem) Unwrap() error { return p.Cause }

// NewProblem returns a Problem of one of the document's codes.
func NewProblem(code, detail string, fields ...ProblemField) *Problem {
	c := conditionOf(code)
	return &Problem{
		Type: "/docs#problem-" + c.Code, Title: c.Title, Status: c.Status, Code: c.Code, Detail: detail,
		Errors: fields, RetryAfter: c.RetryAfter,
	}
}

// InvalidToken is the error code of an unknown or expired key (RFC 6750, section 3.1).
const InvalidToken = "invalid_token"

// UnknownKey reports whether a key came along that is not known, or not any more.
func (p *Problem) UnknownKey() bool { return strings.Contains(p.Challenge, InvalidToken) }

func (p *Problem) Because(cause error) *Problem {
	p.Cause = cause
	return p
}

// Component is one part of the server that has to work: an expert's encoder, an
// index, the corpus.
type Component struct {
	Name     string   `json:"name"`
	Status   string   `json:"status"` // "starting", "ready", "failed"
	Detail   string   `json:"detail,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// conditionOf returns what the document says of a code, or that of an internal error.
func conditionOf(code string) condition {
	if c, ok := APIDocument().Conditions[code]; ok {
		return c
	}
	return condition{Code: code, Status: http.StatusInternalServerError, Title: "Something went wrong inside"}
}

// Sentence begins with a capital letter, or a field's name as it is written, and ends with a
// full stop.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	word, _, _ := strings.Cut(s, " ")
	if c := s[0]; c >= 'a' && c <= 'z' && !strings.Contains(word, "_") {
		s = string(c-'a'+'A') + s[1:]
	}
	if strings.HasSuffix(s, "?") {
		return s
	}
	return strings.TrimSuffix(s, ".") + "."
}

// Internal returns the problem of an error that no caller is told of (500).
func Internal(err error) *Problem {
	return NewProblem(
		"internal",
		"The server failed in a way that it did not expect; its log has the cause under this request id.",
	).Because(err)
}

// ClientGone is the code of a request whose caller disconnected, or stopped reading, before the whole answer was sent.
const ClientGone = "client_gone"
