package collection

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"conclave/ann"
	"conclave/disk"
)

// completeIndex checks the choice of an index and fills in its kind.
func completeIndex(ix Index) (Index, error) {
	if ix.Kind == "" {
		ix.Kind = ann.Kinds()[0].Name
	}
	if ix.Kind == ann.Late {
		return ix, fmt.Errorf("an index of kind %s cannot be chosen: experts that give each token a vector have it by themselves, and others cannot", ann.Late)
	}
	return ix, ix.Check()
}

// describeExpert is an expert whose vectors are to be made, with the index that
// was chosen for encoders that leave a choice.
func describeExpert(x PassageEncoder, index Index) expertManifest {
	if x.Late() {
		index = Index{Kind: ann.Late}
	}
	return expertManifest{Name: x.Name(), Fingerprint: x.Fingerprint(), Dimension: x.Dimension(), Index: index}
}

// files are the places of an expert's files in a manifest.
func (x *segmentExpert) files() []*fileManifest {
	if x.Graph == nil {
		return []*fileManifest{&x.Vectors}
	}
	return []*fileManifest{&x.Vectors, x.Graph}
}

// buildExpert makes the vectors of a segment's passages, builds the index, and
// measures it. The names of the files carry a number, so that an expert that is
// removed and added again gets new ones.
func buildExpert(ctx context.Context, d disk.Disk, dir string, store passages, x expertManifest, vectorsOf vectorMaker, number uint64, o BuildOptions, r *reporter) (out segmentExpert, err error) {
	kind, err := ann.KindNamed(x.Index.Kind)
	if err != nil {
		return out, err
	}
	out = segmentExpert{Name: x.Name, Vectors: fileManifest{Name: fmt.Sprintf("%s-%d.vectors", x.Name, number)}}
	vectors, graph := filepath.Join(dir, out.Vectors.Name), ""
	if kind.Graph {
		out.Graph = &fileManifest{Name: fmt.Sprintf("%s-%d.%s", x.Name, number, kind.Name)}
		graph = filepath.Join(dir, out.Graph.Name)
	}
	defer func() {
		if err != nil {
			_ = d.Remove(vectors) // else the next writer does
			if graph != "" {
				_ = d.Remove(graph)
			}
			err = fmt.Errorf("expert %s: %w", x.Name, err)
		}
	}()
	if err := vectorsOf(ctx, d, vectors, store, x, r); err != nil {
		return out, err
	}
	err = ann.Build(ctx, d, kind.Name, vectors, graph, ann.BuildOptions{
		M: x.Index.M, EfConstruction: x.Index.EfConstruction, Seed: x.Index.Seed, Threads: o.Threads,
		Progress: func(done, total int) {
			r.report(Progress{Stage: Graph, Expert: x.Name, Done: int64(done), Total: int64(total), Unit: "vectors"})
		},
	})
	if err != nil {
		return out, err
	}
	ix, err := ann.Open(d, kind.Name, vectors, graph)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	out.Recall, err = measure(ctx, ix, x, r)
	return out, err
}
