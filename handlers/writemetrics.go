package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.org/conclave/internal/jobs"
)

// registerWrites adds the counters and histograms of writes.
func (m *Metrics) registerWrites(buckets []float64) {
	m.writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "conclave_writes_total", Help: "Passages written, by what became of them: created, replaced, unchanged, deleted, absent or rejected."}, []string{"outcome"})
	m.commit = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "conclave_commit_seconds", Help: "Time until a group of changes would survive a power cut.", Buckets: buckets})
	m.registry.MustRegister(m.writes, m.commit)
}

// countWrite counts one write by its outcome; as rejected if err is not nil.
func (m *Metrics) countWrite(outcome string, err error) {
	if err != nil {
		outcome = statusRejected
	}
	m.writes.WithLabelValues(outcome).Inc()
}

// countRejectedLines counts n uploaded lines that were rejected before storing.
func (m *Metrics) countRejectedLines(n int) { m.writes.WithLabelValues(statusRejected).Add(float64(n)) }

// showBacklog adds the gauges of the backlog of writes, and of jobs. It fails if they are registered already.
func (m *Metrics) showBacklog(w *collectionWriter) error {
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) error {
		return m.RegisterOfCollection(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "conclave_" + name, Help: help, ConstLabels: labels}, value),
		)
	}
	err := errors.Join(
		gauge(
			"backlog_changes", "Changes that are stored and that searches do not see yet.", nil,
			func() float64 { return float64(w.Backlog().Changes) },
		),
		gauge(
			"backlog_oldest_seconds", "How long the oldest of them has waited.", nil,
			func() float64 { return w.Backlog().Oldest.Seconds() },
		),
		gauge("log_bytes", "Bytes in the log of changes.", nil, func() float64 { return float64(w.Backlog().LogBytes) }),
		gauge("indexing_failing", "1 while changes cannot be logged, indexed or merged.", nil, func() float64 {
			if w.Backlog().Trouble != nil {
				return 1
			}
			return 0
		}),
	)
	return errors.Join(err, m.RegisterOfCollection(jobsMetric{w.jobs}))
}

// jobsMetric collects the gauges of jobs. It reads the list of jobs at each collection; if that fails, it collects
// none.
type jobsMetric struct{ queue Jobs }

// jobsWithin is how long a collection of metrics waits for the list of jobs.
const jobsWithin = time.Second

var jobsDescription = prometheus.NewDesc(
	"conclave_jobs",
	"Jobs that are remembered, by their state.",
	[]string{"state"},
	nil,
)

// Describe implements prometheus.Collector: it sends the description of the number of jobs.
func (jobsMetric) Describe(out chan<- *prometheus.Desc) { out <- jobsDescription }

// Collect implements prometheus.Collector: it sends the number of jobs by state.
func (m jobsMetric) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), jobsWithin)
	defer cancel()
	all, err := m.queue.Jobs(ctx)
	if err != nil {
		return
	}
	for state, n := range jobs.Count(all) {
		out <- prometheus.MustNewConstMetric(jobsDescription, prometheus.GaugeValue, float64(n), string(state))
	}
}
