package schema

import (
	"net/http"
	"strings"
)

// Problem is an error answer after RFC 9457, application/problem+json. Code is stable and made for programs; Detail
// says what was wrong and what is allowed; RequestID is the one in the log.
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

// Error returns the detail and the cause, for the log.
func (p *Problem) Error() string {
	if p.Cause != nil {
		return p.Detail + ": " + p.Cause.Error()
	}
	return p.Detail
}

// Unwrap returns the cause; nil if there is none.
func (p *Problem) Unwrap() error { return p.Cause }

// NewProblem returns a problem with one of the document's codes, its title and its status. It is an internal error
// (500) if the document does not have the code.
func NewProblem(code, detail string, fields ...ProblemField) *Problem {
	c := problemCodeOf(code)
	return &Problem{
		Type: "/docs#problem-" + c.Code, Title: c.Title, Status: c.Status, Code: c.Code, Detail: detail,
		Errors: fields, RetryAfter: c.RetryAfter,
	}
}

// InvalidToken is the error code of an unknown or expired key (RFC 6750, section 3.1).
const InvalidToken = "invalid_token"

// UnknownKey reports whether the problem is that a key was sent that is not known, or not any more.
func (p *Problem) UnknownKey() bool { return strings.Contains(p.Challenge, InvalidToken) }

// Because sets the cause, which is logged and not sent, and returns p.
func (p *Problem) Because(cause error) *Problem {
	p.Cause = cause
	return p
}

// Component is the state of one part of the server that has to work: an expert's encoder, an index, the corpus.
type Component struct {
	Name     string   `json:"name"`
	Status   string   `json:"status"` // "starting", "ready", "failed"
	Detail   string   `json:"detail,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// problemCodeOf returns the document's status and title for a code; those of an internal error if it does not have the
// code.
func problemCodeOf(code string) problemCode {
	if c, ok := APIDocument().Conditions[code]; ok {
		return c
	}
	return problemCode{Code: code, Status: http.StatusInternalServerError, Title: "Something went wrong inside"}
}

// Sentence returns a text as a sentence. It begins with a capital letter, unless its first word has an underscore, as
// names of fields have, and ends with a full stop or its question mark. "" stays "".
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

// Internal returns the problem for an error whose text is not shown to callers (500). The log has it as the cause.
func Internal(err error) *Problem {
	return NewProblem(
		"internal", "The server failed in a way that it did not expect; its log has the cause under this request id.",
	).Because(err)
}

// ClientGone is the code of a request whose caller disconnected, or stopped reading, before the whole answer was sent.
const ClientGone = "client_gone"
