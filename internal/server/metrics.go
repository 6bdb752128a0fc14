package server

import (
	"errors"
	"runtime"
	"strings"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/experts"
	"example.org/conclave/search/learned"
	"example.org/conclave/store"

	"github.com/prometheus/client_golang/prometheus"
)

// registerProgram adds conclave_build_info, a gauge of 1 with labels for the program's version, Go version and
// platform, to /metrics. It fails if the metric is registered already.
func registerProgram(metrics *handlers.Metrics, version string) error {
	build := prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "conclave_build_info", Help: "1, with what this program is.",
			ConstLabels: prometheus.Labels{
				"version":  version,
				"go":       runtime.Version(),
				"platform": runtime.GOOS + "/" + runtime.GOARCH,
			}},
		func() float64 { return 1 },
	)
	return metrics.Register(build)
}

// observeStore registers a histogram of requests to the store's cluster and returns the function that records one. A
// store on this machine makes no such requests. It fails if the histogram is registered already.
func observeStore(metrics *handlers.Metrics) (func(store.Exchange), error) {
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "conclave_store_request_seconds",
		Help:    "Requests to the nodes of the store's cluster. Outcomes are ok, error, and overtaken: another node was asked too, and answered first.",
		Buckets: prometheus.ExponentialBuckets(0.002, 2, 12)}, []string{"node", "operation", "outcome"})
	return func(e store.Exchange) {
		requests.WithLabelValues(e.Node, e.Operation, e.Outcome).Observe(e.Took.Seconds())
	}, metrics.Register(requests)
}

// registerPassages adds the gauges of the collection's store, and a histogram of its requests to a cluster, to
// /metrics. It returns the errors of all that could not be registered.
func registerPassages(metrics *handlers.Metrics, a *assembly.Assembly) error {
	exchanged, err := observeStore(metrics)
	a.Store.Observe(exchanged)
	for _, m := range a.Store.Meters() {
		err = errors.Join(
			err,
			metrics.RegisterOfCollection(
				prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "conclave_" + m.Name, Help: m.Help}, m.Value),
			),
		)
	}
	return err
}

// encoderMetrics shows the encoders' counters to Prometheus.
type encoderMetrics struct{ experts func() []*experts.Expert }

// encoderMetric is one counter or gauge of an encoder.
type encoderMetric struct {
	description *prometheus.Desc
	kind        prometheus.ValueType
	value       func(batcher.Stats) float64
}

// describeEncoder returns the metric conclave_encoder_NAME, which has the label "expert". value returns its value
// from an encoder's counters.
func describeEncoder(name, help string, kind prometheus.ValueType, value func(batcher.Stats) float64) encoderMetric {
	return encoderMetric{prometheus.NewDesc("conclave_encoder_"+name, help, []string{"expert"}, nil), kind, value}
}

// encoderMetricList returns the metrics that each encoder has, in a fixed order.
func encoderMetricList() []encoderMetric {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return []encoderMetric{
		describeEncoder(
			"questions_waiting",
			"Questions in the queue.",
			gauge,
			func(s batcher.Stats) float64 { return float64(s.Waiting) },
		),
		describeEncoder(
			"cached_vectors",
			"Question vectors in the cache.",
			gauge,
			func(s batcher.Stats) float64 { return float64(s.Cached) },
		),
		describeEncoder(
			"questions_total",
			"Questions asked.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.Questions) },
		),
		describeEncoder(
			"cache_hits_total",
			"Questions answered from the cache.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.Hits) },
		),
		describeEncoder(
			"shared_total",
			"Questions that joined an equal one under way.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.Shared) },
		),
		describeEncoder(
			"refused_total",
			"Questions turned away because the queue was full.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.Refused) },
		),
		describeEncoder(
			"abandoned_total",
			"Questions dropped before inference because their callers had gone.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.Abandoned) },
		),
		describeEncoder(
			"runs_total",
			"Batches of questions run.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.QuestionRuns) },
		),
		describeEncoder(
			"rows_total",
			"Questions run, over all batches.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.QuestionRows) },
		),
		describeEncoder(
			"real_tokens_total",
			"Tokens run, without padding.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.RealTokens) },
		),
		describeEncoder(
			"padded_tokens_total",
			"Tokens run, with padding.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.PaddedTokens) },
		),
		describeEncoder(
			"passages_total",
			"Passages run, over all batches.",
			counter,
			func(s batcher.Stats) float64 { return float64(s.PassageRows) },
		),
		describeEncoder(
			"passage_cores",
			"The most cores that batches of passages had at the same time.",
			gauge,
			func(s batcher.Stats) float64 { return float64(s.PassageCores) },
		),
		describeEncoder(
			"question_cores",
			"The most cores that batches of questions had at the same time.",
			gauge,
			func(s batcher.Stats) float64 { return float64(s.QuestionCores) },
		),
	}
}

// Describe sends the descriptions of the encoders' metrics to out (prometheus.Collector).
func (e encoderMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, m := range encoderMetricList() {
		out <- m.description
	}
}

// Collect sends the metrics of all encoders to out, with the names of their experts as labels (prometheus.Collector).
func (e encoderMetrics) Collect(out chan<- prometheus.Metric) {
	for _, m := range encoderMetricList() {
		for _, x := range experts.WithEncoders(e.experts()) {
			if x.Remote() != nil {
				continue // which has no queue
			}
			out <- prometheus.MustNewConstMetric(m.description, m.kind, m.value(x.Encoder.Stats()), x.Name())
		}
	}
}

// recallMetric shows how much of the exact search each expert's index finds.
type recallMetric struct{ experts func() []learned.ExpertInfo }

var recallDescription = prometheus.NewDesc(
	"conclave_expert_recall",
	"How much of the exact search the expert's index finds among the first hits, as measured when it was built.",
	[]string{"expert", "hits"}, nil,
)

// Describe sends the description of conclave_expert_recall to out (prometheus.Collector).
func (recallMetric) Describe(out chan<- *prometheus.Desc) { out <- recallDescription }

// Collect sends the recall of each expert's index, as measured when it was built, to out (prometheus.Collector).
func (r recallMetric) Collect(out chan<- prometheus.Metric) {
	for _, x := range r.experts() {
		for name, recall := range x.Recall {
			out <- prometheus.MustNewConstMetric(recallDescription, prometheus.GaugeValue, recall, x.Name, strings.TrimPrefix(name, "recall@"))
		}
	}
}
