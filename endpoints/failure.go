package endpoints

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Error says why a model's server did not do what it was asked, for people. It holds no text that was sent to an
// encoder or a reranker; that of a generator may hold what its server wrote.
type Error struct {
	Reason string
	Status int  // of HTTP; 0: there was no answer, or one that is not understood
	Busy   bool // the server has too much to do
	Again  bool // the same request may succeed later
	// Late: there was no answer within Server.Timeout
	Late bool
	// Strange: there was an answer, and it is not understood
	Strange bool
	After   time.Duration // that the server wants to be left alone; 0: it did not say
	Err     error         // nil: there is no more to say
}

// Error returns the reason and, if there is one, the cause behind a colon.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the cause; nil if there is none.
func (e *Error) Unwrap() error { return e.Err }

// Advice returns the reason alone, which callers of the API may be told.
func (e *Error) Advice() string { return e.Reason }

// Overloaded reports whether the server refused the request since it is busy.
func (e *Error) Overloaded() bool { return e.Busy }

// notUnderstood returns the error of an answer that is not what the interface has. The same request may have a proper
// answer later.
func notUnderstood(format string, args ...any) *Error {
	return &Error{
		Reason: "its server answered in a way that is not understood: " + fmt.Sprintf(format, args...), Again: true,
		Strange: true,
	}
}

// withoutValues returns the text of an error of JSON without the values that it quotes.
func withoutValues(err error) string {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var own *Error
	switch {
	case errors.As(err, &own):
		return own.Reason
	case errors.As(err, &wrong):
		return fmt.Sprintf("%s is of another type than %s", cmp.Or(wrong.Field, "the answer"), wrong.Type)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is no JSON at byte %d", syntax.Offset)
	}
	return "it is no JSON"
}

// longestPause bounds the pause that a server can ask for.
const longestPause = 5 * time.Minute

// mostMessage is the largest number of bytes of a server's message in an error.
const mostMessage = 300

// refusal returns the *Error of an answer with another status than 200. Of text, the body, it takes the error's code,
// and with harmless the message, without the key.
func (c *client) refusal(response *http.Response, text []byte, harmless bool) *Error {
	status := response.StatusCode
	out := &Error{Status: status}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		out.Reason = "its server refused the key that is configured for it"
		if c.server.Key == "" {
			out.Reason = "its server wants a key, and none is configured for it"
		}
	case status == http.StatusNotFound:
		out.Reason = fmt.Sprintf("its server has no model %q, or not this interface at its address", c.server.Model)
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		out.Reason = "its server has too much to do"
		out.Busy, out.Again = true, true
		out.After = pauseOf(response.Header)
	case status >= http.StatusInternalServerError || status == http.StatusRequestTimeout:
		out.Reason = fmt.Sprintf("its server failed (status %d)", status)
		out.Again = true
		out.After = pauseOf(response.Header)
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		out.Reason = fmt.Sprintf("its server sends requests to another address (status %d): configure that one", status)
	default:
		out.Reason = fmt.Sprintf("its server refused the request (status %d)", status)
	}
	code, message := readRefusal(text)
	if code != "" {
		out.Reason += ", " + code
	}
	if harmless && message != "" {
		if c.server.Key != "" {
			message = strings.ReplaceAll(message, c.server.Key, "…")
		}
		out.Err = errors.New(cutText(message, mostMessage))
	}
	return out
}

// codePattern matches what is certainly a code of an error, and no text.
var codePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{1,63}$`)

// readRefusal returns the code and the message in the body of a refusal, in whichever of the usual fields they are; ""
// if there is none.
func readRefusal(body []byte) (code, message string) {
	type fields struct {
		Code, Type, ErrorType, Message, Detail json.RawMessage
	}
	read := func(data []byte) (f fields) {
		var all map[string]json.RawMessage
		_ = json.Unmarshal(data, &all) // another form has no fields
		return fields{all["code"], all["type"], all["error_type"], all["message"], all["detail"]}
	}
	var outer struct{ Error json.RawMessage }
	_ = json.Unmarshal(body, &outer)
	for _, f := range []fields{read(outer.Error), read(body)} {
		for _, raw := range []json.RawMessage{f.Code, f.ErrorType, f.Type} {
			if text := textOf(raw); code == "" && codePattern.MatchString(text) {
				code = text
			}
		}
		message = cmp.Or(message, textOf(f.Message), textOf(f.Detail))
	}
	return code, cmp.Or(message, textOf(outer.Error))
}

// textOf returns a string of JSON; "" for other values.
func textOf(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// pauseOf returns the pause that a server asks for in Retry-After, in seconds or as a date, at most longestPause; 0 if
// it asks for none.
func pauseOf(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	pause := time.Duration(0)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		pause = time.Duration(min(seconds, longestPause.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(value); err == nil {
		pause = time.Until(at)
	}
	return min(max(pause, 0), longestPause)
}

// cutText returns a text on one line, cut to so many bytes, with an ellipsis if something was cut.
func cutText(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
