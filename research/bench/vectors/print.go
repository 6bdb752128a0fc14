package vectors

import (
	"bufio"
	"fmt"
	"io"
)

// Print writes the figures as a table to to: the index, a line for each ef, and exact search if it was measured. It
// returns the error of to.
func (r *Figures) Print(to io.Writer) error {
	out := bufio.NewWriter(to)
	printf := func(format string, values ...any) { _, _ = fmt.Fprintf(out, format, values...) }
	printf(
		"%s: %d vectors of %d numbers, built in %.1f s on %d threads with at most %.0f MB resident, %.0f bytes a vector resident while searching, %.0f on disk\n",
		r.Kind, r.Rows, r.Dim, r.BuildSeconds, r.Threads, float64(r.PeakResident)/1e6, r.BytesPerVector,
		r.DiskPerVector,
	)
	printf("%8s %10s %10s %10s %10s\n", "ef", "queries/s", "recall@10", "recall@100", "compared")
	for _, p := range r.Points {
		printf("%8d %10.0f %10.4f %10.4f %10.0f\n", p.Ef, p.QPS, p.Recall10, p.Recall100, p.Scored)
	}
	if e := r.Exact; e != nil {
		printf(
			"exact search reads %.1f GB/s, plain reading of the same memory %.1f GB/s; many queries at once share passes: %.0f queries/s\n",
			e.BytesPerSecond/1e9, e.MemoryPerSecond/1e9, e.SharedQPS,
		)
	}
	return out.Flush()
}

// PrintFilters writes the costs of filters as a table, those of the graph next to those of exact search. It returns
// the error of to.
func PrintFilters(to io.Writer, points []FilterPoint) error {
	out := bufio.NewWriter(to)
	_, _ = fmt.Fprintf(
		out, "%-8s %8s %9s | %9s %9s %8s | %9s | %9s %9s %9s %7s\n", "allowed", "share", "vectors", "graph/s",
		"recall@10", "given up", "exact/s", "search/s", "recall@10", "recall@100", "exact",
	)
	for _, p := range points {
		_, _ = fmt.Fprintf(
			out, "%-8s %8g %9d | %9.0f %9.4f %7.0f%% | %9.0f | %9.0f %9.4f %9.4f %6.0f%%\n", p.Tags, p.Selectivity,
			p.Allowed, p.WalkQPS, p.WalkRecall10, 100*p.GivenUp, p.ScanQPS, p.QPS, p.Recall10, p.Recall100, 100*p.Exact,
		)
	}
	return out.Flush()
}
