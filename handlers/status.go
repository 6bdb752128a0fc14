package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"example.org/conclave/internal/overload"
	"example.org/conclave/search/fault"
)

// conditionOf returns what the document says of a code, or that of an internal error.
func conditionOf(code string) condition {
	if c, ok := theDocument().conditions[code]; ok {
		return c
	}
	return condition{Code: code, Status: http.StatusInternalServerError, Title: "Something went wrong inside"}
}

// problemOf turns any error into a problem. What the engine and this package
// say is for users; anything else stays in the log.
func problemOf(ctx context.Context, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var e *fault.Error
	if errors.As(err, &e) {
		detail := e.Detail
		if len(e.Fields) == 0 || !strings.HasPrefix(detail, strings.TrimPrefix(e.Fields[0].Pointer, "/")+" ") {
			detail = sentence(detail) // unless it begins with the name of a field
		}
		p := newProblem(e.Code, detail).because(e.Err)
		for _, f := range e.Fields {
			p.Errors = append(p.Errors, ProblemField{Pointer: f.Pointer, Detail: f.Detail})
		}
		return p
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return newProblem(clientGone, "The connection was closed before there was an answer.").because(err)
	case isRefusal(err):
		return notWritten(err)
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem("deadline", "The time ran out before any source answered.").because(err)
	}
	return newProblem(
		"internal",
		"The server failed in a way that it did not expect; its log has the cause under this request id.",
	).because(err)
}

// tooSlow returns the problem of a client whose body did not come in time; nil where an error says
// something else.
func tooSlow(err error) *Problem {
	slow := overload.Slow("the body did not arrive in time, or came too slowly", err)
	if slow == nil {
		return nil
	}
	return newProblem("slow_request", sentence(slow.What)).because(slow)
}

// sentence begins with a capital letter, or a field's name as it is written, and ends with a
// full stop.
func sentence(s string) string {
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
