package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"example.org/conclave/ann"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// completeIndex returns the chosen index with its kind, if that is "", set to the default. It fails for impossible
// options, and for a kind that only an encoder can choose.
func completeIndex(ix store.Index) (store.Index, error) {
	if ix.Kind == "" {
		ix.Kind = ann.Kinds()[0].Name
	}
	if ix.Kind == ann.Late {
		return ix, fmt.Errorf(
			"an index of kind %s cannot be chosen: experts that give each token a vector have it by themselves, and others cannot",
			ann.Late,
		)
	}
	if ix.Kind == ann.Sparse {
		return ix, fmt.Errorf(
			"an index of kind %s cannot be chosen: experts that weigh word pieces have it by themselves, and others cannot",
			ann.Sparse,
		)
	}
	return ix, ix.Check()
}

// describeExpert returns the manifest's description of an encoder's expert. index is used unless the encoder leaves no
// choice: late and sparse encoders have their own kind, and one that searches another expert's vectors has none.
func describeExpert(x store.PassageEncoder, index store.Index) manifest.Expert {
	if x.Late() {
		index = store.Index{Kind: ann.Late}
	}
	if store.IsSparse(x) {
		index = store.Index{Kind: ann.Sparse}
	}
	if x.Owner() != "" {
		index = store.Index{}
	}
	return manifest.Expert{
		Name:        x.Name(),
		Fingerprint: x.Fingerprint(),
		Dimension:   x.Dimension(),
		Index:       index,
		Parts:       x.Parts() != nil,
		Owner:       x.Owner(),
	}
}

// vectorPaths is where an expert's files are in a segment; "" for those it has not.
type vectorPaths struct{ vectors, graph, parts string }

// pathsOf returns the paths of an expert's files in the segment's folder dir; the graph's and the parts' are "" if
// the expert has none.
func pathsOf(x *manifest.SegmentExpert, dir string) (p vectorPaths) {
	p.vectors = filepath.Join(dir, x.Vectors.Name)
	if x.Graph != nil {
		p.graph = filepath.Join(dir, x.Graph.Name)
	}
	if x.Parts != nil {
		p.parts = filepath.Join(dir, x.Parts.Name)
	}
	return p
}

// open opens the index of an expert, as an *ann.GroupedIndex if it has a file of parts. The caller closes it. It fails
// if a file is missing or damaged, or if they do not belong together.
func (p vectorPaths) open(d disk.Disk, kind string) (ann.Index, error) {
	if p.parts == "" {
		return ann.Open(d, kind, p.vectors, p.graph)
	}
	ix, err := ann.OpenGrouped(d, kind, p.vectors, p.graph, p.parts)
	if err != nil {
		return nil, err // no *ann.GroupedIndex
	}
	return ix, nil
}

// buildExpert makes the vectors of a segment's passages with vectorsOf, builds the index, measures its recall, and
// returns the expert's entry for the manifest. The files go to dir and are not synced; number is part of their names,
// so that an expert that is removed and added again gets new ones. If it fails, it removes them.
func buildExpert(
	ctx context.Context,
	d disk.Disk,
	dir string,
	texts passages,
	x manifest.Expert,
	vectorsOf vectorMaker,
	number uint64,
	o store.BuildOptions,
	r *reporter,
) (out manifest.SegmentExpert, err error) {
	kind, err := ann.KindNamed(x.Index.Kind)
	if err != nil {
		return out, err
	}
	out = manifest.SegmentExpert{
		Name: x.Name, Vectors: manifest.SegmentFile{Name: fmt.Sprintf("%s-%d.vectors", x.Name, number)},
	}
	if kind.Graph {
		out.Graph = &manifest.SegmentFile{Name: fmt.Sprintf("%s-%d.%s", x.Name, number, kind.Name)}
	}
	if x.Parts || x.Index.Kind != ann.Late && x.Index.Kind != ann.Sparse {
		out.Parts = &manifest.SegmentFile{Name: fmt.Sprintf("%s-%d.parts", x.Name, number)}
	}
	to := pathsOf(&out, dir)
	defer func() {
		if err != nil {
			for _, f := range out.Files() {
				_ = d.Remove(filepath.Join(dir, f.Name)) // else the next writer does
			}
			err = fmt.Errorf("expert %s: %w", x.Name, err)
		}
	}()
	if err := vectorsOf(ctx, d, to, texts, x, r); err != nil {
		return out, err
	}
	if out.Parts != nil && !x.Parts {
		if _, err := d.Stat(to.parts); errors.Is(err, fs.ErrNotExist) { // no passage has windows
			out.Parts = nil
			to = pathsOf(&out, dir)
		}
	}
	err = ann.Build(ctx, d, kind.Name, to.vectors, to.graph, ann.BuildOptions{
		M: x.Index.M, EfConstruction: x.Index.EfConstruction, Seed: x.Index.Seed, Threads: o.Threads,
		Progress: func(done, total int) {
			r.report(store.Progress{Stage: store.Graph, Expert: x.Name, Done: int64(done), Total: int64(total), Unit: "vectors"})
		},
	})
	if err != nil {
		return out, err
	}
	ix, err := to.open(d, kind.Name)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	out.Recall, err = measure(ctx, ix, x, r)
	return out, err
}
