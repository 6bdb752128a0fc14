// Package vectors measures an index on any vectors: how long it takes to build,
// what it keeps resident, and how many queries it answers at which recall.
package vectors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// K is the number of hits that every measured search asks for.
const K = 100

// Trial is what is measured.
type Trial struct {
	Vectors string // a file of rows, see readVectors
	Queries string // a file of rows
	Truth   string // the K nearest rows of each query, int32 little-endian; "" computes them
	Dim     int
	Kind    string // of index: see ann.Kinds; not one of lists of vectors
	Build   ann.BuildOptions
	Ef      []int // efSearch to measure; nil is DefaultEf
	// Passes over all queries, after one that warms; a point's speed is that
	// of the median pass.
	Passes int
	// Folder keeps the index, and one that is there already is used; its
	// build is then not measured again. "" is a temporary folder.
	Folder string
}

// Check returns an error unless o.Kind names a kind of index for single vectors.
func (o Trial) Check() error {
	kind, err := ann.KindNamed(o.Kind)
	if err == nil && (kind.Tokens || kind.Pairs) {
		err = fmt.Errorf("an index of kind %s compares lists of vectors, and these are single ones", kind.Name)
	}
	return err
}

// DefaultEf returns the values of ef that are measured by default.
func DefaultEf() []int { return []int{100, 150, 200, 300, 400, 600} }

// Figures are the results of measuring an index.
type Figures struct {
	Kind           string  `json:"index"`
	Rows           int     `json:"rows"`
	Dim            int     `json:"dim"`
	Queries        int     `json:"queries"`
	Threads        int     `json:"build_threads"`
	BuildSeconds   float64 `json:"build_s"`          // 0 if the index was there already
	BytesPerVector float64 `json:"bytes_per_vector"` // that traversal keeps resident
	DiskPerVector  float64 `json:"disk_bytes_per_vector"`
	PeakResident   int64   `json:"peak_resident_bytes"` // of this process until the end of the build
	Points         []Point `json:"points"`
	Exact          *Exact  `json:"exact,omitempty"` // of flat alone
}

// Point is the speed and the recall at one efSearch, of one thread that asks
// one query at a time for K hits.
type Point struct {
	Ef        int     `json:"ef"`
	QPS       float64 `json:"qps"`
	Recall10  float64 `json:"recall10"`
	Recall100 float64 `json:"recall100"`
	Scored    float64 `json:"scored"` // vectors compared per query
}

// complete replaces zero values by the defaults.
func (o *Trial) complete() {
	if o.Ef == nil {
		o.Ef = DefaultEf()
	}
	if o.Build.Threads <= 0 {
		o.Build.Threads = runtime.GOMAXPROCS(0)
	}
}

// begin fills in what is left out of o, opens the index, which it builds unless it is there, and reads the queries.
// It sets in r what building took. end closes the index, and removes a temporary folder. It fails if a file cannot be
// read or the index not be built.
func (o *Trial) begin(ctx context.Context, r *Figures) (x ann.Index, asked [][]float32, end func() error, err error) {
	o.complete()
	queries, err := readVectors(o.Queries, o.Dim)
	if err != nil {
		return nil, nil, nil, err
	}
	remove := func() error { return nil }
	if o.Folder == "" {
		o.Folder, err = os.MkdirTemp("", "ann-bench-")
		if err != nil {
			return nil, nil, nil, err
		}
		folder := o.Folder
		remove = func() error { return os.RemoveAll(folder) }
	}
	x, err = openIndex(ctx, *o, r)
	if err != nil {
		return nil, nil, nil, errors.Join(err, remove())
	}
	return x, slices.Collect(slices.Chunk(queries, o.Dim)), func() error { return errors.Join(x.Close(), remove()) }, nil
}

// Run measures an index, which it builds unless it is there, at each ef, and returns the figures. It fails at the
// first search or file that does, and if ctx ends.
func Run(ctx context.Context, o Trial) (r Figures, err error) {
	x, asked, end, err := o.begin(ctx, &r)
	if err != nil {
		return Figures{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	truth, err := exactNearest(ctx, o.Truth, x, asked)
	if err != nil {
		return Figures{}, err
	}
	r.Kind, r.Dim, r.Threads = o.Kind, o.Dim, o.Build.Threads
	r.Rows = x.Len()
	r.Queries = len(asked)
	r.BytesPerVector = x.BytesPerVector()
	if o.Kind == ann.Flat { // efSearch does nothing there
		o.Ef = o.Ef[:min(1, len(o.Ef))]
		e, err := measureExact(ctx, x, asked, o.Passes)
		if err != nil {
			return Figures{}, err
		}
		r.Exact = &e
	}
	for _, ef := range o.Ef {
		p, err := measurePoint(ctx, x, asked, truth, ef, o.Passes)
		if err != nil {
			return Figures{}, err
		}
		r.Points = append(r.Points, p)
	}
	return r, nil
}

// openIndex opens the index in o.Folder, and converts the vectors and builds it if these files are not there. It sets
// in r what building took and the bytes on disk. It fails if o is invalid, a file cannot be read or written, or ctx
// ends.
func openIndex(ctx context.Context, o Trial, r *Figures) (ann.Index, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	vectors, graph := filepath.Join(o.Folder, "vectors"), filepath.Join(o.Folder, o.Kind)
	if _, err := os.Stat(vectors); errors.Is(err, fs.ErrNotExist) {
		if err := convertRows(o.Vectors, vectors, o.Dim); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(graph); errors.Is(err, fs.ErrNotExist) {
		start := time.Now()
		if err := ann.Build(ctx, disk.OS{}, o.Kind, vectors, graph, o.Build); err != nil {
			return nil, err
		}
		r.BuildSeconds = time.Since(start).Seconds()
		r.PeakResident = peakResident()
	}
	x, err := ann.Open(disk.OS{}, o.Kind, vectors, graph)
	if err != nil {
		return nil, err
	}
	var disk int64
	for _, path := range []string{vectors, graph} {
		if info, err := os.Stat(path); err == nil {
			disk += info.Size()
		}
	}
	r.DiskPerVector = float64(disk) / float64(max(x.Len(), 1))
	return x, nil
}

// convertRows writes the rows of a plain file (openRows) as a file of vectors. If it fails, it leaves no file. dim is
// the number of elements of a vector.
func convertRows(from, to string, dim int) error {
	rows, err := openRows(from, dim)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // only read
	w, err := ann.Create(disk.OS{}, ann.Flat, to, dim)
	if err != nil {
		return err
	}
	defer w.Abort()
	for row, err := range rows.All() {
		if err != nil {
			return err
		}
		if err := w.Append(row); err != nil {
			return err
		}
	}
	return w.Close()
}

// exactNearest returns the K nearest rows of each query, from the file path, or by comparing all if path is "". It
// fails if the file has not K rows for each query.
func exactNearest(ctx context.Context, path string, x ann.Index, queries [][]float32) ([][]rank.Ordinal, error) {
	out := make([][]rank.Ordinal, len(queries))
	if path == "" {
		lists, err := x.SearchExact(ctx, queries, K)
		if err != nil {
			return nil, err
		}
		for i, hits := range lists {
			for _, h := range hits {
				out[i] = append(out[i], h.Ordinal)
			}
		}
		return out, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the true neighbours: %w", err)
	}
	if len(raw) != 4*K*len(queries) {
		return nil, fmt.Errorf(
			"%s has %d bytes; %d queries with %d neighbours of 4 bytes each need %d", path, len(raw), len(queries), K,
			4*K*len(queries),
		)
	}
	for i := range out {
		for j := range K {
			out[i] = append(out[i], rank.Ordinal(binary.LittleEndian.Uint32(raw[4*(K*i+j):])))
		}
	}
	return out, nil
}

// measurePoint measures the searches with one efSearch: the recall against truth and the vectors compared in a first
// pass, and the speed of the median of passes further ones, at least one. It fails if a search does or ctx ends. ef
// is how many candidates the graph keeps.
func measurePoint(
	ctx context.Context,
	x ann.Index,
	queries [][]float32,
	truth [][]rank.Ordinal,
	ef, passes int,
) (Point, error) {
	p := Point{Ef: ef}
	found10, wanted10, found100, wanted100, scored := 0, 0, 0, 0, 0
	seconds := make([]float64, 0, passes)
	for pass := range passes + 1 {
		start := time.Now()
		for i, q := range queries {
			hits, stats, err := x.Search(ctx, q, ann.SearchOptions{K: K, Ef: ef})
			if err != nil {
				return p, err
			}
			if pass > 0 {
				continue
			}
			scored += stats.Scored
			found100 += countCommon(hits, truth[i])
			wanted100 += len(truth[i])
			ten := truth[i][:min(10, len(truth[i]))]
			found10 += countCommon(hits[:min(10, len(hits))], ten)
			wanted10 += len(ten)
		}
		if pass > 0 {
			seconds = append(seconds, time.Since(start).Seconds())
		}
	}
	slices.Sort(seconds)
	p.QPS = float64(len(queries)) / seconds[len(seconds)/2]
	p.Recall10 = float64(found10) / float64(max(wanted10, 1))
	p.Recall100 = float64(found100) / float64(max(wanted100, 1))
	p.Scored = float64(scored) / float64(max(len(queries), 1))
	return p, nil
}

// countCommon returns how many of the hits are in want.
func countCommon(hits []rank.Hit, want []rank.Ordinal) int {
	n := 0
	for _, h := range hits {
		if slices.Contains(want, h.Ordinal) {
			n++
		}
	}
	return n
}
