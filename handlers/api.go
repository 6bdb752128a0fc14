// Package handlers is conclave over HTTP: JSON in, JSON out, and every error a
// problem (RFC 9457). It is the only package that knows status codes.
//
// Words used here:
//
//   - operation: one method of one path, as openapi.yaml describes it;
//   - route: an operation and what answers it;
//   - call: one request on the way through its route;
//   - exchange: what is known about one request, for its log line and metrics;
//   - condition: one line of the table from codes to statuses;
//   - problem: an error answer.
//
// openapi.yaml describes all of it, and is enforced: paths, methods, scopes, types,
// parameters, bodies and codes are read from it (openapi.go). A route is one function
// in a file of its own, one line in routes.go, and its paragraph there.
package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/klauspost/compress/gzhttp"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
)

// Options are the parts and settings of an API. Admission, Write, BodyBytes, AnswerMemory, BodyMemory, Timeout and
// RateWindow, of at least a second, are required; each other field may be zero.
type Options struct {
	// Engine answers; nil until Attach is called.
	Engine Engine
	// Name is that of the collection of requests that name none.
	Name string
	// Limits are those of its engines, for a request whose collection is not known yet.
	Limits search.Limits
	// Collections are those that requests may name; nil: the server has one, which is Name.
	Collections Collections
	// Readiness is what /readyz shows.
	Readiness *Readiness
	// Metrics is what /metrics shows.
	Metrics *Metrics
	// Logger gets one line for each request; nil: none.
	Logger *slog.Logger
	// Tracer gets a span for each request; nil: none.
	Tracer trace.Tracer
	// LogQuestions adds the text of questions to the log.
	LogQuestions bool

	// Adapters are served beside the API's own operations.
	Adapters []Adapter

	// Keys are the API keys; without any, everybody may call.
	Keys []front.Key
	// AuthDisabled lets everybody call on any address, not on loopback alone.
	AuthDisabled bool
	// Guide searches the pages of the guide; nil: they have no search.
	Guide GuideSearcher
	// OpenMetrics and OpenDocs let /metrics, and /docs, /guide/ and /openapi.*, be read
	// without a key.
	OpenMetrics, OpenDocs bool
	// AllowedHosts are names that Host may have while there are no keys, beside
	// localhost and loopback addresses; "*" stands for any.
	AllowedHosts []string
	// CORSOrigins are the origins whose pages may call.
	CORSOrigins []string
	// TrustedProxies are the address blocks whose X-Forwarded-For and X-Forwarded-Prefix
	// are believed.
	TrustedProxies []string
	// BasePath is the path under which callers reach the server, such as /conclave; "" is
	// none.
	BasePath string

	// BodyBytes bounds a request's body.
	BodyBytes int64
	// AnswerMemory is what all answers may take in memory together, and BodyMemory all
	// bodies that are being read, in bytes.
	AnswerMemory, BodyMemory int64
	// Write bounds what is written.
	Write WriteLimits
	// ReadOnly says that nobody will attach a Writer.
	ReadOnly bool
	// TempDir is where answers of uploads wait; "": the system's folder.
	TempDir string
	// Admission lets requests in.
	Admission *overload.Control
	// Timeout is the most that a request may take which does not store anything, from when
	// all of it is there until its answer is made.
	Timeout time.Duration
	// Writing is how long a generator may write, beside Timeout; 0: there is none with time of its own.
	Writing time.Duration
	// RateRequests bounds the requests of one key, or of one address where there
	// is no key, in a RateWindow; 0: no bound.
	RateRequests int
	RateWindow   time.Duration

	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// API serves HTTP for one collection. It is safe for concurrent use. A request for another collection is answered by a
// copy of the API, which shares everything but the Collection (API.of).
type API struct {
	*process
	*Collection
}

// process is the state that the APIs of all collections of a server share.
type process struct {
	options       Options // complete
	handler       http.Handler
	registrations []registration // all that there are

	gate                      *front.Gate
	admission                 *front.Admission
	storing                   *semaphore.Weighted // uploads whose lines are being stored
	uploads                   *overload.Shares    // uploads under way
	readTimeout, writeTimeout atomic.Int64        // of connections, in nanoseconds; 0: none
	running                   atomic.Int64
	started                   atomic.Bool // of a server of several collections
	connections               *overload.Connections
	requests                  atomic.Pointer[context.Context] // the parent of all requests' contexts; nil before Serve
}

// New returns an API that serves nothing yet (Serve). It fails if a required option is missing, a limit is impossible,
// or an address, origin or base path is malformed.
func New(o Options) (*API, error) {
	if o.Readiness == nil {
		o.Readiness = &Readiness{}
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Admission == nil || o.BodyBytes < 1 || o.AnswerMemory < 1 || o.BodyMemory < 1 || o.Timeout <= 0 ||
		o.RateRequests < 0 ||
		o.RateWindow < time.Second {
		return nil, fmt.Errorf(
			"handlers: impossible limits: bodies of %d bytes, %d and %d bytes of memory, %v for a request, %d requests in %v, admission %v",
			o.BodyBytes, o.AnswerMemory, o.BodyMemory, o.Timeout, o.RateRequests, o.RateWindow, o.Admission != nil,
		)
	}
	o.Write.Grace = cmp.Or(o.Write.Grace, 10*time.Second)
	if err := o.Write.checkBounds(); err != nil {
		return nil, err
	}
	var err error
	o.Keys = slices.Clone(o.Keys)
	a := &API{&process{options: o}, NewCollection(o.Name, o.Readiness)}
	a.connections = overload.NewConnections(a.options.Write.BytesASecond)
	a.storing = semaphore.NewWeighted(int64(a.options.Write.Uploads))
	a.uploads = overload.NewShares(openUploads * a.options.Write.Uploads)
	a.admission = front.NewAdmission(o.Admission, o.AnswerMemory, o.BodyMemory)
	var proxies []netip.Prefix
	for _, text := range o.TrustedProxies {
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("handlers: trusted proxy: %w", err)
		}
		proxies = append(proxies, block)
	}
	if o.BasePath != "" && !front.IsBasePath(o.BasePath) {
		return nil, fmt.Errorf("handlers: the base path %q is no path such as /conclave", o.BasePath)
	}
	exposed := []string{
		backlogHeader, acceptedHeader, rejectedHeader, "ETag", "Location", "Retry-After", "Server-Timing", "X-Request-ID",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
	}
	a.gate, err = front.NewGate(front.GateOptions{
		Keys: o.Keys, AllowedHosts: o.AllowedHosts, CORSOrigins: o.CORSOrigins, ExposedHeaders: exposed, BasePath: o.BasePath,
		Proxies: proxies, RateRequests: o.RateRequests, RateWindow: o.RateWindow, Now: o.Now,
	}, a.connections)
	if err != nil {
		return nil, fmt.Errorf("handlers: %w", err)
	}
	err = errors.Join(
		o.Metrics.registerAll(a.connections.Collectors()),
		o.Metrics.registerAll(a.admission.AnswerMemory.Collectors()), o.Metrics.showReadiness(o.Readiness),
	)
	if err != nil {
		return nil, fmt.Errorf("handlers: metrics: %w", err)
	}
	router, err := a.newRouter()
	if err != nil {
		return nil, err
	}
	a.handler, err = a.wrapRouter(underCollection(router), proxies)
	if err != nil {
		return nil, err
	}
	if o.Engine != nil {
		a.Attach(o.Engine)
	}
	return a, nil
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// wrapRouter returns the router wrapped in the checks and middleware of every request, outermost first. proxies are the
// addresses whose X-Forwarded headers are believed. It fails only if compression cannot be set up.
func (a *API) wrapRouter(router http.Handler, proxies []netip.Prefix) (http.Handler, error) {
	// zstd is off: its encoders keep goroutines, and gzip is what curl asks for.
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1400), gzhttp.EnableZstd(false), gzhttp.SuffixETag(etagSuffix),
		gzhttp.ContentTypes([]string{schema.TypeJSON, schema.TypeProblem, schema.TypeYAML, schema.TypeHTML, "text/css", "text/javascript"}))
	if err != nil {
		return nil, fmt.Errorf("handlers: compression: %w", err)
	}
	clientIP := middleware.ClientIPFromRemoteAddr
	if len(proxies) > 0 {
		clientIP = middleware.ClientIPFromXFF(a.options.TrustedProxies...)
	}
	h := router
	for _, wrap := range []func(http.Handler) http.Handler{
		a.gate.LimitRate,
		a.gate.BoundConnections,
		a.gate.Identify,
		func(next http.Handler) http.Handler { return compress(next) },
		a.gate.CheckOrigin,
		a.gate.AllowCORS,
		a.gate.CheckHost,
		front.Secure,
		front.RecoverPanics,
		a.withExchange,
		clientIP,
		a.gate.UnderBasePath,
	} {
		h = wrap(h)
	}
	return h, nil
}
