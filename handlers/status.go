package handlers

import (
	"context"
	"errors"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search/fault"
)

// problemOf returns the problem for any error but nil. Errors of the engine and this package are shown to users; for
// others the problem says only that the server failed, and the log has the cause. ctx is the request's: if it has
// ended, a canceled call is one whose client has gone.
func problemOf(ctx context.Context, err error) *schema.Problem {
	var p *schema.Problem
	if errors.As(err, &p) {
		return p
	}
	var e *fault.Error
	if errors.As(err, &e) {
		detail := e.Detail
		if len(e.Fields) == 0 || !strings.HasPrefix(detail, strings.TrimPrefix(e.Fields[0].Pointer, "/")+" ") {
			detail = schema.Sentence(detail) // unless it begins with the name of a field
		}
		p := schema.NewProblem(e.Code, detail).Because(e.Err)
		for _, f := range e.Fields {
			p.Errors = append(p.Errors, schema.ProblemField{Pointer: f.Pointer, Detail: f.Detail})
		}
		return p
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return schema.NewProblem(schema.ClientGone, "The connection was closed before there was an answer.").Because(err)
	case isRefusal(err):
		return notWritten(err)
	case errors.Is(err, context.DeadlineExceeded):
		return schema.NewProblem("deadline", "The time ran out before any source answered.").Because(err)
	}
	return schema.Internal(err)
}
