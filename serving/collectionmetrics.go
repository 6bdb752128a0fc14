package serving

import (
	"runtime"

	"conclave/collection"

	"github.com/prometheus/client_golang/prometheus"
)

// collectionMetrics shows the program and the collection that it serves to
// Prometheus.
type collectionMetrics struct {
	assembly *Assembly
	version  string
}

type collectionMetric struct {
	description *prometheus.Desc
	value       func(*collection.Generation) float64
}

func collectionMetricList() []collectionMetric {
	gauge := func(name, help string, value func(*collection.Generation) float64) collectionMetric {
		return collectionMetric{prometheus.NewDesc("conclave_"+name, help, nil, nil), value}
	}
	return []collectionMetric{
		gauge("generation", "The generation of the collection that searches see.", func(g *collection.Generation) float64 { return float64(g.Number()) }),
		gauge("passages", "Passages that searches see.", func(g *collection.Generation) float64 { return float64(g.Len()) }),
		gauge("segments", "Segments of the collection.", func(g *collection.Generation) float64 { return float64(g.Segments()) }),
		gauge("collection_bytes", "Bytes of the segments' files.", func(g *collection.Generation) float64 { return float64(g.Bytes()) }),
	}
}

func buildInfo() *prometheus.Desc {
	return prometheus.NewDesc("conclave_build_info", "1, with what this program is.", []string{"version", "go", "platform"}, nil)
}

// Describe implements prometheus.Collector.
func (c collectionMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- buildInfo()
	for _, m := range collectionMetricList() {
		out <- m.description
	}
}

// Collect implements prometheus.Collector.
func (c collectionMetrics) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(buildInfo(), prometheus.GaugeValue, 1, c.version, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	g := c.assembly.Collection.Acquire()
	defer g.Release()
	for _, m := range collectionMetricList() {
		out <- prometheus.MustNewConstMetric(m.description, prometheus.GaugeValue, m.value(g))
	}
}
