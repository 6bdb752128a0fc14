package handlers

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// othersLabel is the label that collections share which have none of their own. No collection has such a name.
const othersLabel = "(others)"

// collectionMetrics counts requests by collection. So many have a label of their own, the first that are asked, and
// keep it until they are removed; anybody who may make collections could otherwise make series without end.
type collectionMetrics struct {
	requests *prometheus.CounterVec // collection, class of the status
	seconds  *prometheus.CounterVec // collection

	mu    sync.Mutex
	most  int
	known map[string]bool
}

// ShowCollections lets requests be counted by the collections that they are of, at most so many of which have a label
// of their own.
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

// CollectionLabel returns the label of a collection: its name, or the one that those share who came too late.
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

// ForgetCollection removes the series of a collection that is removed, and frees its label.
func (m *Metrics) ForgetCollection(name string) {
	c := m.collections
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, name)
	of := prometheus.Labels{"collection": name}
	c.requests.DeletePartialMatch(of)
	c.seconds.DeletePartialMatch(of)
}

// gatheredFor returns the series of the collections that a key is for. What has no collection is counted over the
// requests of all callers, and is not among them.
func (m *Metrics) gatheredFor(key *Key) ([]*dto.MetricFamily, error) {
	all, err := m.registry.Gather()
	for _, family := range all {
		family.Metric = slices.DeleteFunc(family.Metric, func(series *dto.Metric) bool {
			return !slices.ContainsFunc(series.Label, func(l *dto.LabelPair) bool {
				return l.GetName() == "collection" && key.isFor(l.GetValue())
			})
		})
	}
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 }), err
}

// requested counts a request to collections.
func (m *Metrics) requested(names []string, status int, took time.Duration) {
	if m.collections == nil {
		return
	}
	for _, name := range names {
		label := m.CollectionLabel(name)
		m.collections.requests.WithLabelValues(label, strconv.Itoa(status/100)+"xx").Inc()
		m.collections.seconds.WithLabelValues(label).Add(took.Seconds())
	}
}
