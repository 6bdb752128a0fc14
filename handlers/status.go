package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"conclave/search"
)

// condition is one line of the table from what went wrong to a status.
type condition struct {
	code       string
	status     int
	title      string
	retryAfter int // seconds
}

// statusClientGone is what the log says of a request whose caller left; it is
// sent as well, for a caller that only closed its sending half.
const statusClientGone = 499

// conditions is the one table of statuses: every code that this package, the
// engine and the jobs answer with. The reference page and the OpenAPI document list
// it, and a test compares it with the source.
func conditions() []condition {
	return []condition{
		{code: "not_json", status: 400, title: "The body is not JSON"},
		{code: "invalid_utf8", status: 400, title: "The request is not valid UTF-8"},
		{code: "duplicate_key", status: 400, title: "A key is written twice"},
		{code: "too_deep", status: 400, title: "The JSON is nested too deeply"},
		{code: "unknown_field", status: 400, title: "There is no such field"},
		{code: "missing_field", status: 400, title: "A field is missing"},
		{code: "empty_question", status: 400, title: "The question is empty"},
		{code: "invalid_query", status: 400, title: "The query string is malformed"},
		{code: "unknown_parameter", status: 400, title: "There is no such query parameter"},
		{code: "missing_parameter", status: 400, title: "A query parameter is missing"},
		{code: "repeated_parameter", status: 400, title: "A query parameter is given twice"},
		{code: "impossible_condition", status: 400, title: "The conditions cannot hold together"},
		{code: "unexpected_body", status: 400, title: "This method takes no body"},
		{code: "incomplete_body", status: 400, title: "The body ended early"},

		{code: "unauthorized", status: 401, title: "A key is needed"},
		{code: "insufficient_scope", status: 403, title: "The key does not allow this"},
		{code: "foreign_origin", status: 403, title: "Pages elsewhere may not call"},
		{code: "foreign_host", status: 403, title: "The host name is not one of this server's"},

		{code: "read_only", status: 403, title: "The server only reads"},

		{code: "no_such_path", status: 404, title: "There is no such path"},
		{code: "unknown_passage", status: 404, title: "There is no such passage"},
		{code: "expert_not_found", status: 404, title: "There is no such expert"},
		{code: "unknown_snapshot", status: 404, title: "There is no such snapshot"},
		{code: "unknown_job", status: 404, title: "There is no such job"},
		{code: "method_not_allowed", status: 405, title: "The path has no such method"},
		{code: "not_acceptable", status: 406, title: "None of the accepted types is served"},
		{code: "slow_request", status: 408, title: "The request came too slowly"},
		{code: "job_under_way", status: 409, title: "A job is at it"},
		{code: "job_ended", status: 409, title: "The job has ended"},
		{code: "expert_exists", status: 409, title: "The collection has this expert"},
		{code: "snapshot_exists", status: 409, title: "There is a snapshot of this name"},
		{code: "version_mismatch", status: 412, title: "The stored version is another one"},
		{code: "body_too_large", status: 413, title: "The body is too large"},
		{code: "too_long", status: 413, title: "The text is too long"},
		{code: "too_many_values", status: 413, title: "The JSON has too many values"},
		{code: "line_too_long", status: 413, title: "The line is too long"},
		{code: "answer_too_large", status: 413, title: "The answer is too large"},
		{code: "batch_too_large", status: 413, title: "There are too many searches in one request"},
		{code: "too_many_inputs", status: 413, title: "There are too many texts in one request"},
		{code: "unsupported_media_type", status: 415, title: "The body's type is not the one taken"},

		{code: "wrong_type", status: 422, title: "A value is of another type"},
		{code: "out_of_range", status: 422, title: "A value is outside its range"},
		{code: "unknown_value", status: 422, title: "A value is none of those allowed"},
		{code: "invalid_passage", status: 422, title: "The passage cannot be stored"},
		{code: "id_mismatch", status: 422, title: "Body and path name two passages"},
		{code: "invalid_name", status: 422, title: "The name cannot be used"},
		{code: "unknown_bundle", status: 422, title: "There is no such bundle"},
		{code: "unknown_method", status: 422, title: "There is no such fusion method"},
		{code: "unknown_expert", status: 422, title: "The request names an expert that is not there"},
		{code: "unknown_source", status: 422, title: "The request names a source that is not there"},
		{code: "duplicate_method", status: 422, title: "A fusion method is named twice"},
		{code: "duplicate_expert", status: 422, title: "An expert is named twice"},
		{code: "no_sources", status: 422, title: "There is nothing to search with"},
		{code: "needs_bm25", status: 422, title: "The method needs BM25"},
		{code: "needs_experts", status: 422, title: "The method needs an expert"},
		{code: "needs_calibration", status: 422, title: "The method needs a calibration"},
		{code: "unused_option", status: 422, title: "The method would not look at the option"},
		{code: "no_passage_encoder", status: 422, title: "The expert cannot encode passages"},
		{code: "empty_text", status: 422, title: "A text is empty"},
		{code: "empty_tag", status: 422, title: "A tag is empty"},
		{code: "too_many_tags", status: 422, title: "There are too many tags"},
		{code: "tag_too_long", status: 422, title: "A tag is too long"},

		{code: "rate_limited", status: 429, title: "Too many requests"}, // Retry-After is the limiter's
		{code: "too_many_requests", status: 429, title: "The server is busy", retryAfter: 1},

		{code: "too_many_jobs", status: 429, title: "Too many jobs wait", retryAfter: 60},

		{code: "overloaded", status: 429, title: "The queue is full", retryAfter: 1},

		{code: "client_gone", status: statusClientGone, title: "The caller closed the connection"},
		{code: "internal", status: 500, title: "Something went wrong inside"},
		{code: "not_ready", status: 503, title: "The server is not ready", retryAfter: 1},
		{code: "unavailable", status: 503, title: "No source could answer", retryAfter: 1},
		{code: "failed", status: 503, title: "The answer could not be put together", retryAfter: 1},
		{code: "shutting_down", status: 503, title: "The server is shutting down", retryAfter: 1},
		{code: "not_written", status: 503, title: "The change could not be stored", retryAfter: 5},
		{code: "not_visible", status: 503, title: "Searches do not see the change yet", retryAfter: 5},
		{code: "answer_lost", status: 503, title: "The answer could not be kept", retryAfter: 5},
		{code: "deadline", status: 504, title: "The time ran out"},
		{code: "storage_full", status: 507, title: "There is no room to store the change"},
	}
}

// conditionsByCode is the table by its codes; an answer to a batch looks many up.
var conditionsByCode = sync.OnceValue(func() map[string]condition {
	out := map[string]condition{}
	for _, c := range conditions() {
		out[c.code] = c
	}
	return out
})

// conditionOf is the table's line for a code, or that of an internal error.
func conditionOf(code string) condition {
	if c, ok := conditionsByCode()[code]; ok {
		return c
	}
	return condition{code: code, status: http.StatusInternalServerError, title: "Something went wrong inside"}
}

// problemOf turns any error into a problem. What the engine and this package
// say is for users; anything else stays in the log.
func problemOf(ctx context.Context, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var e *search.Error
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
		return newProblem("client_gone", "The connection was closed before there was an answer.").because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem("deadline", "The time ran out before any source answered.").because(err)
	}
	return newProblem("internal", "The server failed in a way that it did not expect; its log has the cause under this request id.").because(err)
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}
