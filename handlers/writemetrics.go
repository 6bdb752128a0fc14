package handlers

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

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
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) error {
		return m.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "conclave_" + name, Help: help, ConstLabels: labels}, value))
	}
	err := errors.Join(
		gauge("backlog_changes", "Changes that are stored and that searches do not see yet.", nil, func() float64 { return float64(w.Backlog().Changes) }),
		gauge("backlog_oldest_seconds", "How long the oldest of them has waited.", nil, func() float64 { return w.Backlog().Oldest.Seconds() }),
		gauge("log_bytes", "Bytes in the log of changes.", nil, func() float64 { return float64(w.Backlog().LogBytes) }),
		gauge("indexing_failing", "1 while changes cannot be logged, indexed or merged.", nil, func() float64 {
			if w.Backlog().Trouble != nil {
				return 1
			}
			return 0
		}))
	for _, state := range []jobs.State{jobs.Queued, jobs.Running, jobs.Done, jobs.Failed, jobs.Cancelled} {
		err = errors.Join(err, gauge("jobs", "Jobs that are remembered, by their state.", prometheus.Labels{"state": string(state)}, func() (n float64) {
			for _, job := range w.jobs.Jobs() {
				if job.State == state {
					n++
				}
			}
			return n
		}))
	}
	return err
}
