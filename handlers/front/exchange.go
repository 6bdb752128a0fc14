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

// Exchange is what is known about one request, for its log line, its metrics
// and the problem it may end with. It belongs to the goroutine that serves the
// request.
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

	Group    string    // of its turns and places (joinGroup); "": none
	Arrived  time.Time // when the whole request was received; later by the time spent opening collections
	Admitted admitted  // its place and memory
	Turn     heldTurn  // the processor that it keeps

	Attributes []slog.Attr // what the handler wants in the log line
	Question   string      // logged only where the operator asked for it
}

// ExchangeKey is the key of the Exchange among the values of a request's context.
type ExchangeKey struct{}

// ExchangeOf returns the exchange of a request's context. Outside of a request, in
// a test of one handler, it is an empty one.
func ExchangeOf(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(ExchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{}
}

// WithExchange returns a request with an exchange in its context, and the exchange: the one that it has, or a new one.
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

// Recorder remembers what was answered.
type Recorder struct {
	http.ResponseWriter
	code  int
	Bytes int64
}

func (r *Recorder) WriteHeader(code int) {
	if r.code == 0 && code >= 200 {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

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

// Unwrap lets http.ResponseController through.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Status returns the status that was sent; net/http sends 200 when nobody says.
func (r *Recorder) Status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}

// RequestID takes over the caller's request id, at most 64 of A-Z a-z 0-9 - _,
// and makes one where there is none like that. It is for logs alone and never
// gives access to anything.
func RequestID(given []string) string {
	if len(given) == 1 && len(given[0]) >= 1 && len(given[0]) <= 64 && strings.Trim(given[0], wording.NameLetters) == "" {
		return given[0]
	}
	return RandomHex(16)
}

func RandomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}

// RecoverPanics answers 500 for a handler that panicked. Where the answer had
// begun, the connection is cut instead, so that half an answer is not taken
// for a whole one.
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
