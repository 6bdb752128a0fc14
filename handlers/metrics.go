package handlers

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"example.org/conclave/handlers/front"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Metrics counts requests, problems and, through an Observer, the stages of searches. Labels hold only names from the
// configuration and from this package, never a question, an id or a requested path.
type Metrics struct {
	registry *prometheus.Registry
	only     *prometheus.Registry // metrics of the collection, on a server that has one (RegisterOfCollection)

	requests    *prometheus.CounterVec   // method, route, status
	seconds     *prometheus.HistogramVec // route
	problems    *prometheus.CounterVec   // code
	inFlight    prometheus.Gauge
	stages      *prometheus.HistogramVec // source, stage
	sources     *prometheus.CounterVec   // source, status
	answers     *prometheus.CounterVec   // outcome
	confidences prometheus.Histogram
	writes      *prometheus.CounterVec // outcome
	commit      prometheus.Histogram

	collections *collectionMetrics // nil: the server has one
}

// NewMetrics returns metrics with a registry of their own: two servers in one process share none.
func NewMetrics() *Metrics {
	// From 250 µs, below the shortest search, to 16 s, above the longest.
	buckets := prometheus.ExponentialBuckets(0.00025, 2, 17)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		only:     prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_http_requests_total", Help: "Requests answered, by method, route and status."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "conclave_http_request_seconds", Help: "Time from a request's header to the end of its answer.", Buckets: buckets}, []string{"route"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_problems_total", Help: "Error answers, by their code."}, []string{"code"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "conclave_http_requests_in_flight", Help: "Requests being answered."}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "conclave_stage_seconds", Help: "Time of one stage of a search: of a source, or of the request where source is empty.", Buckets: buckets}, []string{"source", "stage"}),
		sources: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_source_answers_total", Help: "How sources fared: ok, failed, deadline or overloaded."}, []string{"source", "status"}),
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_answers_total", Help: "Answers of searches: degraded where a source was left out, abstained where the confidence was too low, else complete."}, []string{"outcome"}),
		confidences: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "conclave_answer_confidence", Help: "Confidences of answers, where they are known.",
			Buckets: prometheus.LinearBuckets(0.1, 0.1, 10)}),
	}
	m.registerWrites(buckets)
	m.registry.MustRegister(m.requests, m.seconds, m.problems, m.inFlight, m.stages, m.sources, m.answers, m.confidences,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Register adds the metrics of another part of the program, such as the encoders' queues. It fails if they are
// registered already.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// RegisterOfCollection adds metrics of the collection of a server that has one. Unlike those of Register, they are also
// shown to keys that are limited to named collections. It fails if they are registered already.
func (m *Metrics) RegisterOfCollection(c prometheus.Collector) error { return m.only.Register(c) }

// registerAll adds several collectors and returns the joined errors of Register.
func (m *Metrics) registerAll(all []prometheus.Collector) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, m.Register(c))
	}
	return errors.Join(errs...)
}

// showReadiness adds the gauge conclave_ready, which is 1 while r reports Ready. It fails if there is one already.
func (m *Metrics) showReadiness(r *Readiness) error {
	return m.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "conclave_ready", Help: "1 while every component works and the server is not shutting down."}, func() float64 {
		if status, _ := r.report(); status == Ready {
			return 1
		}
		return 0
	}))
}

// countRoute counts one answered request and its duration, by route, for its collections and by the code of its
// problem, if it has one. Unknown methods share one label, and so do paths that no route serves: otherwise a scanner
// would make a series with every guess.
func (m *Metrics) countRoute(method string, x *front.Exchange, status int, took time.Duration) {
	switch method {
	case http.MethodGet,
		http.MethodHead,
		http.MethodPost,
		http.MethodPut,
		http.MethodDelete,
		http.MethodOptions,
		http.MethodPatch:
	default:
		method = "other"
	}
	route := x.Route
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
	m.countForCollections(x.Collections, status, took)
	if x.Code != "" {
		m.problems.WithLabelValues(x.Code).Inc()
	}
}

// handler returns the handler of /metrics for a caller with this key; nil: the server needs none. A key that is limited
// to collections gets only their series. A key with a filter gets none, since all series count passages that it may not
// see.
func (m *Metrics) handler(key *front.Key) http.Handler {
	var gatherer prometheus.Gatherer = prometheus.Gatherers{m.registry, m.only}
	switch {
	case key == nil || !key.IsBound():
	case !key.Filter.Empty():
		gatherer = prometheus.Gatherers{}
	case m.collections == nil:
		gatherer = m.only
	default:
		gatherer = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return m.gatherFor(key) })
	}
	return promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
