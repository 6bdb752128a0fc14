package handlers

import (
	"github.com/prometheus/client_golang/prometheus"

	"conclave/collection"
)

// watchWrites adds what is counted of writes.
func (m *Metrics) watchWrites(buckets []float64) {
	m.writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "conclave_writes_total", Help: "Passages written, by what became of them: created, replaced, unchanged, deleted, absent or rejected."}, []string{"outcome"})
	m.commit = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "conclave_commit_seconds", Help: "Time until a group of changes would survive a power cut.", Buckets: buckets})
	m.registry.MustRegister(m.writes, m.commit)
}

func (m *Metrics) wrote(outcome string, err error) {
	if err != nil {
		outcome = statusRejected
	}
	m.writes.WithLabelValues(outcome).Inc()
}

// rejectedLines counts lines that were refused before anybody tried to store
// them.
func (m *Metrics) rejectedLines(n int) { m.writes.WithLabelValues(statusRejected).Add(float64(n)) }

// watchBacklog adds gauges of what waits to be seen by searches.
func (m *Metrics) watchBacklog(w Writer) error { return m.Register(backlogMetrics{w}) }

// backlogMetrics shows a backlog to Prometheus.
type backlogMetrics struct{ writer Writer }

type backlogGauge struct {
	description *prometheus.Desc
	value       func(collection.Backlog) float64
}

func backlogGauges() []backlogGauge {
	gauge := func(name, help string, value func(collection.Backlog) float64) backlogGauge {
		return backlogGauge{prometheus.NewDesc("conclave_"+name, help, nil, nil), value}
	}
	return []backlogGauge{
		gauge("backlog_changes", "Changes that are stored and that searches do not see yet.", func(b collection.Backlog) float64 { return float64(b.Changes) }),
		gauge("backlog_oldest_seconds", "How long the oldest of them has waited.", func(b collection.Backlog) float64 { return b.Oldest.Seconds() }),
		gauge("log_bytes", "Bytes in the log of changes.", func(b collection.Backlog) float64 { return float64(b.LogBytes) }),
		gauge("segments", "Segments of the collection.", func(b collection.Backlog) float64 { return float64(b.Segments) }),
		gauge("indexing_failing", "1 while changes cannot be logged, indexed or merged.", func(b collection.Backlog) float64 {
			if b.Trouble != nil {
				return 1
			}
			return 0
		}),
	}
}

// Describe implements prometheus.Collector.
func (b backlogMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, g := range backlogGauges() {
		out <- g.description
	}
}

// Collect implements prometheus.Collector.
func (b backlogMetrics) Collect(out chan<- prometheus.Metric) {
	now := b.writer.Backlog()
	for _, g := range backlogGauges() {
		out <- prometheus.MustNewConstMetric(g.description, prometheus.GaugeValue, g.value(now))
	}
}
