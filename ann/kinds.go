package ann

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"example.org/conclave/ann/graph"
	"example.org/conclave/internal/disk"
)

// The kinds of index.
const (
	Flat  = "flat"
	HNSW  = "hnsw"
	Coder = "coder"
	Late  = "late"
	// Sparse compares lists of weights of word pieces (SPLADE).
	Sparse = "sparse"
)

// Kind is one kind of index as Build and Open know it.
type Kind struct {
	Name string
	// Graph says whether an index has a second file in addition to its vectors: a graph, or postings.
	Graph bool
	// Tokens says that a vector is a list of token vectors: a multiple of the index's
	// dimension numbers, which differs from vector to vector. The kind follows from the
	// encoder: users cannot choose it.
	Tokens bool
	// Pairs says that a vector is a list of pairs of a word piece's id, in ascending order, and its weight, above 0. It
	// may be empty. This kind also follows from the encoder.
	Pairs bool
	// Floor10 is the recall@10 below which an index must not be served, since it
	// misses too many of the nearest vectors. A kind whose floor is 0 is served
	// whatever its recall, with a warning.
	Floor10 float64
	// Warning is what people should know before they choose the kind.
	Warning string
}

// Kinds returns every kind of index, the default first.
func Kinds() []Kind {
	return []Kind{
		{Name: HNSW, Graph: true, Floor10: 0.95},
		{Name: Flat, Floor10: 0.999},
		{
			Name:    Coder,
			Graph:   true,
			Warning: "github.com/coder/hnsw finds a quarter of the nearest vectors and keeps its whole graph in memory; hnsw finds nearly all and is faster",
		},
		{Name: Late, Tokens: true, Floor10: 0.999},
		{Name: Sparse, Graph: true, Pairs: true, Floor10: 0.999},
	}
}

// KindNamed returns the kind with this name. It fails, and lists the kinds, if there is none.
func KindNamed(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, fmt.Errorf("there is no index of kind %q; the kinds are %s", name, strings.Join(names, ", "))
}

// BuildOptions are the choices of a build. Zero values are the defaults.
type BuildOptions struct {
	M              int    // links of a new node on each level: 16
	EfConstruction int    // candidates they are chosen from: 200, for coder 20
	Seed           uint64 // of the order in which vectors are added
	Threads        int    // goroutines: as many as the processor runs at once
	// Progress is told, from one goroutine, how many of the vectors are done.
	Progress func(done, total int)
}

// Check returns an error if no index of the kind can be built with these options, or the kind is unknown. Call it
// before anything is encoded.
func (o BuildOptions) Check(kind string) error {
	k, err := KindNamed(kind)
	if err != nil {
		return err
	}
	if !k.Graph {
		if o.M != 0 || o.EfConstruction != 0 {
			return fmt.Errorf(
				"an index of kind %s has no graph, so M (%d) and efConstruction (%d) decide nothing: leave them out",
				kind, o.M, o.EfConstruction,
			)
		}
		return nil
	}
	if k.Pairs {
		return nil // its second file has no graph
	}
	o = o.withDefaults(kind)
	return graph.Params{M: o.M, EfConstruction: o.EfConstruction}.Check()
}

// withDefaults returns the options with the defaults of a kind of index in the place of zero values.
func (o BuildOptions) withDefaults(kind string) BuildOptions {
	if o.M == 0 {
		o.M = 16
	}
	if o.EfConstruction == 0 {
		o.EfConstruction = 200
		if kind == Coder { // more is slower there and no better
			o.EfConstruction = 20
		}
		o.EfConstruction = max(o.EfConstruction, o.M)
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	return o
}

// Build builds an index from a file of vectors and writes its second file to graphPath; a kind without one writes
// nothing. If it fails or ctx ends, nothing is left at graphPath. kind is the name of the index's kind.
func Build(ctx context.Context, d disk.Disk, kind, vectorsPath, graphPath string, o BuildOptions) (err error) {
	k, err := KindNamed(kind)
	if err != nil {
		return err
	}
	o = o.withDefaults(kind)
	if !k.Graph { // the file of vectors is the whole index
		x, err := Open(d, kind, vectorsPath, "")
		if err != nil {
			return err
		}
		o.Progress(x.Len(), x.Len())
		return x.Close()
	}
	if k.Pairs {
		if err := buildSparse(ctx, d, vectorsPath, graphPath, o); err != nil {
			return fmt.Errorf("building the %s index of %s: %w", kind, vectorsPath, err)
		}
		return nil
	}
	v, err := openVectors(d, vectorsPath)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if kind == HNSW {
		err = buildHNSW(ctx, d, v, graphPath, o)
	} else {
		err = buildCoder(ctx, d, v, graphPath, o)
	}
	if err != nil {
		return fmt.Errorf("building the %s index of %s: %w", kind, vectorsPath, err)
	}
	return nil
}

// Open opens an index that Build made; the caller closes it. graphPath is ignored for a kind without a second file.
// It fails if a file is missing, its header is damaged, or the files do not belong together. kind is the name that it
// was built with.
func Open(d disk.Disk, kind, vectorsPath, graphPath string) (Index, error) {
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	if k.Tokens {
		x, err := openLate(d, vectorsPath)
		if err != nil {
			return nil, fmt.Errorf("%s index: %w", kind, err)
		}
		return x, nil
	}
	if k.Pairs {
		x, err := openSparse(d, vectorsPath, graphPath)
		if err != nil {
			return nil, fmt.Errorf("%s index: %w", kind, err)
		}
		return x, nil
	}
	v, err := openVectors(d, vectorsPath)
	if err != nil {
		return nil, err
	}
	var x Index
	switch kind {
	case HNSW:
		x, err = openHNSW(d, v, graphPath)
	case Coder:
		x, err = openCoder(d, v, graphPath)
	default:
		x = flat{v}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s index: %w", kind, err), v.Close())
	}
	return x, nil
}
