package graph

import (
	"errors"
	"fmt"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
)

// The sections of a graph's file: ordinals, groups, grouped, scales, codes, then the
// lists of each level from level 0.
const (
	fileKind    = "hnsw"
	fileVersion = 3

	ordinalsAt = iota - 2
	groupsAt
	groupedAt
	scalesAt
	codesAt
	linksAt
)

// The numbers in its header.
const (
	rowsParameter = iota
	nodesParameter
	dimParameter
	mParameter
	efConstructionParameter
	seedParameter
	stampParameter
	groupsParameter
)

// Origin says what a graph was built from and how; it is kept in the file.
type Origin struct {
	EfConstruction int
	Seed           uint64
	Stamp          uint64 // of the file of vectors: another one is a mismatch
}

// File is a graph in a memory-mapped file.
type File struct {
	Graph
	Origin Origin

	file *mapped.File
}

// Open maps the file of a graph; the caller closes it. Its cost does not depend on the graph's size, since it reads
// only the header. It fails if the header is damaged or the sections do not fit it. Call Verify before a search. A
// search also returns an error for a graph that is wrong although its checksums are right.
func Open(d disk.Disk, path string) (*File, error) {
	f, err := mapped.Open(d, path, fileKind, fileVersion)
	if err != nil {
		return nil, err
	}
	g, err := readFile(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), f.Close())
	}
	return g, nil
}

// readFile returns the graph in a mapped file, in place. It fails if the header has impossible numbers or a section has
// another size than follows from them.
func readFile(f *mapped.File) (*File, error) {
	rows, nodes := f.Parameter(rowsParameter), f.Parameter(nodesParameter)
	dim, m := f.Parameter(dimParameter), f.Parameter(mParameter)
	groups := f.Parameter(groupsParameter)
	impossible := rows > MaxRows || nodes > rows || groups > min(nodes, rows-nodes)
	if impossible || dim < 1 || dim > MaxDimension || m < minM || m > maxM {
		return nil, fmt.Errorf(
			"its header says %d vectors in %d nodes of dimension %d with M %d, which no graph has: rebuild it", rows,
			nodes, dim, m,
		)
	}
	out := &File{
		file: f,
		Origin: Origin{
			EfConstruction: int(f.Parameter(efConstructionParameter)),
			Seed:           f.Parameter(seedParameter),
			Stamp:          f.Parameter(stampParameter),
		},
	}
	g := &out.Graph
	g.kernels = kernel.Best()
	g.dim = int(dim)
	g.stride = kernel.Stride(int(dim))
	g.m = int(m)
	g.levels = levelSizes(int(nodes), g.m)
	g.setIDBytes(shortestIDs(int(nodes)))
	if f.Sections() != linksAt+len(g.levels) {
		return nil, fmt.Errorf("it has %d sections where %d belong: rebuild it", f.Sections(), linksAt+len(g.levels))
	}
	var err error
	g.ordinals, err = mapped.Values[uint32](f, ordinalsAt, g.nodeCount())
	if err != nil {
		return nil, err
	}
	if groups > 0 {
		g.groups, err = mapped.Values[uint32](f, groupsAt, int(groups)+1)
		if err != nil {
			return nil, err
		}
	}
	g.grouped, err = mapped.Values[uint32](f, groupedAt, int(rows-nodes+groups))
	if err != nil {
		return nil, err
	}
	g.scales, err = mapped.Values[float32](f, scalesAt, g.nodeCount())
	if err != nil {
		return nil, err
	}
	g.codes, err = mapped.Values[byte](f, codesAt, g.nodeCount()*g.stride)
	if err != nil {
		return nil, err
	}
	for l := range g.levels {
		list, err := mapped.Values[byte](f, linksAt+l, g.listBytes(l))
		if err != nil {
			return nil, err
		}
		g.links = append(g.links, list)
	}
	return out, nil
}

// Close unmaps the file. No search may be running. It returns the error of unmapping.
func (f *File) Close() error { return f.file.Close() }
