package handlers

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"conclave/collection"
	"conclave/jobs"
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

// watchWriting adds gauges of what waits to be seen by searches, and of jobs.
func (m *Metrics) watchWriting(w *writing) error {
	return errors.Join(m.Register(backlogMetrics{w.Writer}), m.Register(jobMetrics{w.jobs}))
}

// jobMetrics shows jobs to Prometheus.
type jobMetrics struct{ jobs Jobs }

func (jobMetrics) description() *prometheus.Desc {
	return prometheus.NewDesc("conclave_jobs", "Jobs that are remembered, by their state.", []string{"state"}, nil)
}

// Describe implements prometheus.Collector.
func (j jobMetrics) Describe(out chan<- *prometheus.Desc) { out <- j.description() }

// Collect implements prometheus.Collector.
func (j jobMetrics) Collect(out chan<- prometheus.Metric) {
	states := map[jobs.State]int{jobs.Queued: 0, jobs.Running: 0, jobs.Done: 0, jobs.Failed: 0, jobs.Cancelled: 0}
	for _, job := range j.jobs.Jobs() {
		states[job.State]++
	}
	for state, n := range states {
		out <- prometheus.MustNewConstMetric(j.description(), prometheus.GaugeValue, float64(n), string(state))
	}
}

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
