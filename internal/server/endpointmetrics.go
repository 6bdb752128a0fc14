package server

import (
	"example.org/conclave/internal/experts"

	"github.com/prometheus/client_golang/prometheus"
)

// endpointMetrics shows Prometheus what was sent to the models of experts behind HTTP interfaces.
type endpointMetrics struct{ experts func() []*experts.Expert }

// describeEndpoint returns the description of the counter conclave_endpoint_NAME, which has the label "expert".
func describeEndpoint(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("conclave_endpoint_"+name, help, []string{"expert"}, nil)
}

var (
	endpointRequests = describeEndpoint("requests_total", "Requests to the model's server that were answered with vectors.")
	endpointFailures = describeEndpoint("failures_total", "Requests to the model's server that failed.")
	endpointTokens   = describeEndpoint("tokens_total", "Tokens sent to the model's server, as it counts them.")
)

// Describe sends the descriptions to out (prometheus.Collector).
func (endpointMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- endpointRequests
	out <- endpointFailures
	out <- endpointTokens
}

// Collect sends the counters of all experts behind interfaces to out (prometheus.Collector).
func (e endpointMetrics) Collect(out chan<- prometheus.Metric) {
	for name, sent := range experts.RemoteCounts(e.experts()) {
		for description, value := range map[*prometheus.Desc]int64{
			endpointRequests: sent.Requests, endpointFailures: sent.Failures, endpointTokens: sent.Tokens,
		} {
			out <- prometheus.MustNewConstMetric(description, prometheus.CounterValue, float64(value), name)
		}
	}
}
