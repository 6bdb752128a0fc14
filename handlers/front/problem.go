package front

import (
	"encoding/json"
	"net/http"
	"strconv"

	"example.org/conclave/handlers/schema"
)

// WriteProblem sends a problem as the answer, in the format of the path's interface. All errors of this API are sent by
// it. It notes the problem's code and cause for the log, and drops headers that were set for another answer, such as
// ETag.
func WriteProblem(w http.ResponseWriter, r *http.Request, p *schema.Problem) {
	x := ExchangeOf(r.Context())
	x.Code, x.Cause = p.Code, p.Cause
	q := *p
	q.Type = BasePath(r.Context()) + q.Type
	q.RequestID = x.RequestID
	status := q.Status
	contentType := schema.TypeProblem
	answer := any(&q)
	if x.Refusal != nil {
		contentType = schema.TypeJSON
		status, answer = x.Refusal(&q)
	}
	body, _ := json.Marshal(answer) // it has nothing that cannot be marshalled
	h := w.Header()
	// What was meant for the good answer is wrong for this one.
	for _, name := range []string{"Etag", "Last-Modified", "Content-Encoding", "Server-Timing"} {
		h.Del(name)
	}
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	if q.RetryAfter > 0 && h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(q.RetryAfter))
	}
	if q.Allow != "" {
		h.Set("Allow", q.Allow)
	}
	if q.Challenge != "" {
		h.Set("WWW-Authenticate", q.Challenge)
	}
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}
