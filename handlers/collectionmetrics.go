package handlers

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"example.org/conclave/handlers/front"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// othersLabel is the label shared by all collections without one of their own. No collection can have this name.
const othersLabel = "(others)"

// collectionMetrics counts requests by collection. The first collections that are used get a label of their own until
// they are removed; the others share othersLabel, so that callers who create collections cannot create any number of
// series.
type collectionMetrics struct {
	requests *prometheus.CounterVec // collection, class of the status
	seconds  *prometheus.CounterVec // collection

	mu    sync.Mutex
	most  int
	known map[string]bool
}

// ShowCollections adds counters of requests by collection; at most this many collections get a label of their own. It
// fails if it was called before.
func (m *Metrics) ShowCollections(most int) error {
	m.collections = &collectionMetrics{
		most: most, known: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_collection_requests_total",
			Help: "Requests answered, by the collection and the class of the status, such as 2xx.",
		}, []string{"collection", "status"}),
		seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_collection_request_seconds_total", Help: "Time of these requests, by the collection.",
		}, []string{"collection"}),
	}
	return m.registerAll([]prometheus.Collector{m.collections.requests, m.collections.seconds})
}

// CollectionLabel returns the label of a collection: its name, or othersLabel if all labels are used. A new collection
// takes a label if one is left. ShowCollections must have been called.
func (m *Metrics) CollectionLabel(name string) string {
	c := m.collections
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known[name] {
		if len(c.known) >= c.most {
			return othersLabel
		}
		c.known[name] = true
	}
	return name
}

// ForgetCollection removes the series of a collection that was removed, and frees its label for another.
// ShowCollections must have been called.
func (m *Metrics) ForgetCollection(name string) {
	c := m.collections
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
	labels := prometheus.Labels{"collection": name}
	c.requests.DeletePartialMatch(labels)
	c.seconds.DeletePartialMatch(labels)
}

// gatherFor returns the series whose collection label is one that the key may use. Series without a collection label
// are left out, since they count the requests of all callers. An error comes with the series that could be gathered.
func (m *Metrics) gatherFor(key *front.Key) ([]*dto.MetricFamily, error) {
	all, err := m.registry.Gather()
	for _, family := range all {
		family.Metric = slices.DeleteFunc(family.Metric, func(series *dto.Metric) bool {
			return !slices.ContainsFunc(series.Label, func(l *dto.LabelPair) bool {
				return l.GetName() == "collection" && key.IsFor(l.GetValue())
			})
		})
	}
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 }), err
}

// countForCollections counts one request, and the time that it took, for each of the collections that it was answered
// from. It does nothing on a server of one collection (ShowCollections).
func (m *Metrics) countForCollections(names []string, status int, took time.Duration) {
	if m.collections == nil {
		return
	}
	for _, name := range names {
		label := m.CollectionLabel(name)
		m.collections.requests.WithLabelValues(label, strconv.Itoa(status/100)+"xx").Inc()
		m.collections.seconds.WithLabelValues(label).Add(took.Seconds())
	}
}
