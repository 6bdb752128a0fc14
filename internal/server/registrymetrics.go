package server

import (
	"context"
	"time"

	"example.org/conclave/internal/jobs"

	"github.com/prometheus/client_golang/prometheus"
)

// collectionsDescription is of how many collections are in which state.
var collectionsDescription = prometheus.NewDesc(
	"conclave_collections", "Collections that are open, or could not be opened.", []string{"state"}, nil,
)

// registryMetric is the Prometheus metric of how many collections are open, and how many could not be opened.
type registryMetric struct{ *registry }

// Describe sends the description of conclave_collections to out (prometheus.Collector).
func (r registryMetric) Describe(out chan<- *prometheus.Desc) { out <- collectionsDescription }

// Collect sends to out how many collections are open, being opened or being closed (state "open"), and how many could
// not be opened (state "failed") (prometheus.Collector).
func (r registryMetric) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	open, failed := len(r.held), len(r.failed)
	r.mu.Unlock()
	for state, n := range map[string]int{"open": open, "failed": failed} {
		out <- prometheus.MustNewConstMetric(collectionsDescription, prometheus.GaugeValue, float64(n), state)
	}
}

// openMetric collects the Prometheus metrics of the open collections, with the label of each. It describes none ahead,
// since each collection's store decides which it has.
type openMetric struct{ *registry }

// series identifies a metric of collections with one label, whose values are added up.
type series struct{ name, help, label, state string }

// Describe sends nothing: each collection's store decides which metrics it has (prometheus.Collector).
func (openMetric) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of all open collections to out; values with the same labels are added up
// (prometheus.Collector).
func (o openMetric) Collect(out chan<- prometheus.Metric) {
	sums := map[series]float64{}
	for name, h := range o.openInUse() {
		label := o.observer.Metrics.CollectionLabel(name)
		h.c.reportMeasures(func(metric, help, state string, value float64) {
			sums[series{metric, help, label, state}] += value
		})
		o.endMeasuring(h)
	}
	for s, sum := range sums {
		labels, values := []string{"collection"}, []string{s.label}
		if s.state != "" {
			labels, values = append(labels, "state"), append(values, s.state)
		}
		out <- prometheus.MustNewConstMetric(
			prometheus.NewDesc("conclave_"+s.name, s.help, labels, nil), prometheus.GaugeValue, sum, values...)
	}
}

// openInUse returns the open collections by name, each with one more user, which endMeasuring ends. Unlike requests,
// these uses do not keep a collection from being closed as idle.
func (r *registry) openInUse() map[string]*registryEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]*registryEntry{}
	for name, h := range r.held {
		if h.c != nil && h.gone == nil {
			h.users++
			all[name] = h
		}
	}
	return all
}

// endMeasuring ends a use of openInUse. The time of the collection's last use stays.
func (r *registry) endMeasuring(h *registryEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.users--
}

// jobsWithin is how long the metrics wait for the jobs of a collection.
const jobsWithin = time.Second

// reportMeasures calls tell for each metric of the collection: those of its store, the changes that searches do not see
// yet, and the number of jobs in each state if the jobs are on this machine.
func (s *collection) reportMeasures(tell func(name, help, state string, value float64)) {
	for _, m := range s.assembly.Store.Meters() {
		tell(m.Name, m.Help, "", m.Value())
	}
	if s.writer == nil {
		return
	}
	tell("backlog_changes", "Changes that are stored and that searches do not see yet.", "",
		float64(s.writer.Backlog().Changes))
	if s.jobs == nil || s.assembly.Store.JobsFolder() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(s.running, jobsWithin)
	defer cancel()
	all, err := s.jobs.Jobs(ctx)
	if err != nil {
		return
	}
	for state, n := range jobs.Count(all) {
		tell("jobs", "Jobs that are remembered, by their state.", string(state), float64(n))
	}
}
