package handlers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/wording"

	"github.com/go-chi/chi/v5/middleware"
)

// exchange is what is known about one request, for its log line, its metrics
// and the problem it may end with. It belongs to the goroutine that serves the
// request.
type exchange struct {
	requestID string
	traceID   string // W3C trace context, 32 hex digits; "" without one
	parentID  string
	spanID    string

	collections []string // names of the collections that it is answered from, on a server of several

	base       string // the path under which the caller reaches the server, such as /conclave; "": none (BasePath)
	collection string // that the path names; "": none

	route string // the path as the API documents it; "" for unknown paths
	code  string // of the problem

	key        *Key            // the caller's key; nil: none, or not a valid one
	keyProblem *schema.Problem // of a missing or invalid key; nil: none is wrong, or the server has no keys

	// refusal is how a problem is written where it is an adapter's; nil: as a problem.
	refusal func(*schema.Problem) (status int, body any)
	cause   error // behind the problem, for the log alone

	group    string    // of its turns and places (joinGroup); "": none
	arrived  time.Time // when the whole request was received; later by the time spent opening collections
	admitted admitted  // its place and memory
	turn     heldTurn  // the processor that it keeps

	attributes []slog.Attr // what the handler wants in the log line
	question   string      // logged only where the operator asked for it
}

type exchangeKey struct{}

// exchangeOf returns the exchange of a request's context. Outside of a request, in
// a test of one handler, it is an empty one.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

// withExchange returns a request with an exchange in its context, and the exchange: the one that it has, or a new one.
func withExchange(r *http.Request) (*http.Request, *exchange) {
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		return r, x
	}
	x := &exchange{}
	return r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)), x
}

// note adds attributes to the log line of the request.
func (x *exchange) note(attributes ...slog.Attr) {
	x.attributes = append(x.attributes, attributes...)
}

// left records for the log that the caller disconnected, or stopped reading, before the whole answer was sent.
func (x *exchange) left(cause error) { x.code, x.cause = clientGone, cause }

// begin wraps next in middleware that gives every request an exchange and, when it ends in whatever way, writes one log
// line and counts the request's metrics.
func (a *API) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.options.Now()
		r, x := withExchange(r)
		x.arrived = time.Now()
		x.requestID = requestID(r.Header.Values("X-Request-ID"))
		x.refusal = a.refusalOf(r.URL.Path)
		if parent := spanOf(r); parent.IsValid() {
			x.traceID = parent.TraceID().String()
			x.parentID = parent.SpanID().String()
			x.spanID = randomHex(8)
		}
		w.Header().Set("X-Request-ID", x.requestID)
		rec := &recorder{ResponseWriter: w}
		a.running.Add(1)
		a.options.Metrics.inFlight.Inc()
		defer func() {
			a.options.Metrics.inFlight.Dec()
			a.running.Add(-1)
		}()
		r, ended := a.trace(r, x)
		defer func() {
			// Also after a panic that aborts the connection.
			took := a.options.Now().Sub(start)
			ended(rec.status())
			a.options.Metrics.request(r.Method, x, rec.status(), took)
			a.logRequest(r, x, rec, took)
		}()
		next.ServeHTTP(rec, r)
	})
}

// logRequest writes the access log line. The query string is not in it, since
// it holds the question.
func (a *API) logRequest(r *http.Request, x *exchange, rec *recorder, took time.Duration) {
	level := slog.LevelInfo
	switch status := rec.status(); {
	case status == http.StatusGatewayTimeout:
		level = slog.LevelInfo // the caller's own limit
	case status >= 500 && x.code != "not_ready":
		level = slog.LevelError
	case x.route != "" && isProbePath(x.route) && status < 400:
		level = slog.LevelDebug // probes come every few seconds
	}
	if !a.options.Logger.Enabled(r.Context(), level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("request_id", x.requestID),
		slog.String("method", wording.Shorten(r.Method)),
		slog.String("path", wording.Shorten(r.URL.Path)),
		slog.Int("status", rec.status()),
		slog.Int64("bytes", rec.bytes),
		slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("client", middleware.GetClientIP(r.Context())),
	}
	if x.traceID != "" {
		attributes = append(
			attributes,
			slog.String("trace_id", x.traceID),
			slog.String("span_id", x.spanID),
			slog.String("parent_id", x.parentID),
		)
	}
	if x.key != nil {
		attributes = append(attributes, slog.String("key", x.key.Name))
	}
	if x.code != "" {
		attributes = append(attributes, slog.String("code", x.code))
	}
	attributes = append(attributes, x.attributes...)
	if a.options.LogQuestions && x.question != "" {
		attributes = append(attributes, slog.String("question", x.question))
	}
	if x.cause != nil {
		attributes = append(attributes, slog.String("cause", x.cause.Error()))
	}
	a.options.Logger.LogAttrs(r.Context(), level, "request", attributes...)
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	code  int
	bytes int64
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && code >= 200 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Flush sends what was written. The compression asks for it by this name.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// status returns the status that was sent; net/http sends 200 when nobody says.
func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}

// requestID takes over the caller's request id, at most 64 of A-Z a-z 0-9 - _,
// and makes one where there is none like that. It is for logs alone and never
// gives access to anything.
func requestID(given []string) string {
	if len(given) == 1 && len(given[0]) >= 1 && len(given[0]) <= 64 && strings.Trim(given[0], wording.NameLetters) == "" {
		return given[0]
	}
	return randomHex(16)
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}

// recoverPanics answers 500 for a handler that panicked. Where the answer had
// begun, the connection is cut instead, so that half an answer is not taken
// for a whole one.
func recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			x := exchangeOf(r.Context())
			problem := problemOf(r.Context(), fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			if rec, ok := w.(*recorder); ok && rec.code != 0 {
				x.code, x.cause = problem.Code, problem.Cause
				panic(http.ErrAbortHandler)
			}
			writeProblem(w, r, problem)
		}()
		next.ServeHTTP(w, r)
	})
}
