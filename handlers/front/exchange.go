package front

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
)

// Exchange has what the log line of one request, its metrics, and the problem that it may end with need. It belongs to
// the goroutine that serves the request.
type Exchange struct {
	RequestID string
	TraceID   string // W3C trace context, 32 hex digits; "" without one
	ParentID  string
	SpanID    string

	Collections []string // names of the collections that it is answered from, on a server of several

	base       string // the path under which the caller reaches the server, such as /conclave; "": none (BasePath)
	Collection string // that the path names; "": none

	Route string // the path as the API documents it; "" for unknown paths
	Code  string // of the problem

	Key        *Key            // the caller's key; nil: none, or not a valid one
	keyProblem *schema.Problem // of a missing or invalid key; nil: none is wrong, or the server has no keys

	// Refusal is how a problem is written where it is an adapter's; nil: as a problem.
	Refusal func(*schema.Problem) (status int, body any)
	Cause   error // behind the problem, for the log alone

	Group    string          // of its turns and places (setGroup); "": none
	Arrived  time.Time       // when the whole request was received; later by the time spent opening collections
	Admitted admittedRequest // its place and memory
	Turn     heldTurn        // the processor that it keeps

	Attributes []slog.Attr // what the handler wants in the log line
	Question   string      // logged only where the operator asked for it
}

// ExchangeKey is the key of the Exchange among the values of a request's context.
type ExchangeKey struct{}

// ExchangeOf returns the exchange of a request's context; a new, empty one if there is none, as in tests of one
// handler.
func ExchangeOf(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(ExchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{}
}

// WithExchange returns a request that has an exchange in its context, and that exchange. It is r itself if r has one;
// otherwise a copy of r with a new one.
func WithExchange(r *http.Request) (*http.Request, *Exchange) {
	if x, ok := r.Context().Value(ExchangeKey{}).(*Exchange); ok {
		return r, x
	}
	x := &Exchange{}
	return r.WithContext(context.WithValue(r.Context(), ExchangeKey{}, x)), x
}

// Note adds attributes to the log line of the request.
func (x *Exchange) Note(attributes ...slog.Attr) {
	x.Attributes = append(x.Attributes, attributes...)
}

// Left records for the log that the caller disconnected, or stopped reading, before the whole answer was sent.
func (x *Exchange) Left(cause error) {
	x.Code = schema.ClientGone
	x.Cause = cause
}

// Recorder is a ResponseWriter that remembers the status and the number of bytes that were sent.
type Recorder struct {
	http.ResponseWriter
	code  int
	Bytes int64
}

// WriteHeader implements http.ResponseWriter, and remembers the status.
func (r *Recorder) WriteHeader(code int) {
	if r.code == 0 && code >= 200 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter, and counts the bytes. It returns the error of the writer below.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.Bytes += int64(n)
	return n, err
}

// Flush sends what was written. The compression asks for it by this name.
func (r *Recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap returns the wrapped writer, for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Status returns the status that was sent; 200 if WriteHeader was not called, as net/http sends.
func (r *Recorder) Status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}

// RequestID returns the caller's request id if exactly one is given and it has 1 to 64 of A-Z a-z 0-9 - _, else a new
// random one. Ids are for logs only and never grant access.
func RequestID(given []string) string {
	if len(given) == 1 && len(given[0]) >= 1 && len(given[0]) <= 64 && strings.Trim(given[0], wording.NameLetters) == "" {
		return given[0]
	}
	return RandomHex(16)
}

// RandomHex returns n random bytes from the system's generator as 2n hexadecimal digits.
func RandomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}

// RecoverPanics returns middleware that answers 500 if next panics. If part of the answer was sent, it cuts the
// connection, so that half an answer is not taken for a whole one.
func RecoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			x := ExchangeOf(r.Context())
			problem := schema.Internal(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			if rec, ok := w.(*Recorder); ok && rec.code != 0 {
				x.Code, x.Cause = problem.Code, problem.Cause
				panic(http.ErrAbortHandler)
			}
			WriteProblem(w, r, problem)
		}()
		next.ServeHTTP(w, r)
	})
}
