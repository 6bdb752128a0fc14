package collection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"conclave/ann"
	"conclave/corpus"
	"conclave/rank"
)

// completeIndex checks the choice of an index and fills in its kind.
func completeIndex(ix Index) (Index, error) {
	if ix.Kind == "" {
		ix.Kind = ann.Kinds()[0].Name
	}
	if ix.Kind == ann.Late {
		return ix, fmt.Errorf("an index of kind %s cannot be chosen: experts that give each token a vector have it by themselves, and others cannot", ann.Late)
	}
	return ix, ann.BuildOptions{M: ix.M, EfConstruction: ix.EfConstruction}.Check(ix.Kind)
}

// describeExpert is an expert whose vectors are to be made, with the index that
// was chosen for those who leave a choice.
func describeExpert(x Encoder, index Index) expertManifest {
	if late, ok := x.(interface{ Late() bool }); ok && late.Late() {
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
func buildExpert(ctx context.Context, dir string, store *corpus.Store, x expertManifest, vectorsOf vectorMaker, number uint64, o BuildOptions, r *reporter) (out segmentExpert, err error) {
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
			_ = os.Remove(vectors) // else the next writer does
			if graph != "" {
				_ = os.Remove(graph)
			}
			err = fmt.Errorf("expert %s: %w", x.Name, err)
		}
	}()
	if err := vectorsOf(ctx, vectors, store, x, r); err != nil {
		return out, err
	}
	err = ann.Build(ctx, kind.Name, vectors, graph, ann.BuildOptions{
		M: x.Index.M, EfConstruction: x.Index.EfConstruction, Seed: x.Index.Seed, Threads: o.Threads,
		Progress: func(done, total int) {
			r.report(Progress{Stage: Graph, Expert: x.Name, Done: int64(done), Total: int64(total), Unit: "vectors"})
		},
	})
	if err != nil {
		return out, err
	}
	ix, err := ann.Open(kind.Name, vectors, graph)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	out.Recall, err = measure(ctx, ix, x, o, r)
	return out, err
}

// encodedBy makes vectors with an encoder.
func encodedBy(encoder PassageEncoder, o BuildOptions) vectorMaker {
	return func(ctx context.Context, path string, store *corpus.Store, x expertManifest, r *reporter) error {
		return encode(ctx, path, store, x, encoder, o, r)
	}
}

// encode writes the vectors of a segment's passages in the order of their
// ordinals, a batch at a time.
func encode(ctx context.Context, path string, store *corpus.Store, x expertManifest, encoder PassageEncoder, o BuildOptions, r *reporter) error {
	out, err := ann.Create(x.Index.Kind, path, x.Dimension)
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			out.Abort()
		}
	}()
	batch := make([]corpus.Passage, 0, o.BatchPassages)
	for done := 0; done < store.Len(); done += len(batch) {
		r.report(Progress{Stage: Encoding, Expert: x.Name, Done: int64(done), Total: int64(store.Len()), Unit: "passages"})
		batch = batch[:0]
		for i := done; i < min(done+o.BatchPassages, store.Len()); i++ {
			p, err := store.Passage(rank.Ordinal(i))
			if err != nil {
				return err
			}
			batch = append(batch, p)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		vectors, err := encoder.EncodePassages(ctx, batch)
		if err != nil {
			return fmt.Errorf("encoding passages %q to %q: %w", batch[0].ID, batch[len(batch)-1].ID, err)
		}
		if len(vectors) != len(batch) {
			return fmt.Errorf("the encoder gave %d vectors for %d passages", len(vectors), len(batch))
		}
		for i, v := range vectors {
			if err := checkVector(v, x); err != nil {
				return fmt.Errorf("the vector of passage %q %w", batch[i].ID, err)
			}
			if err := out.Append(v); err != nil {
				return err
			}
		}
	}
	r.report(Progress{Stage: Encoding, Expert: x.Name, Done: int64(store.Len()), Total: int64(store.Len()), Unit: "passages"})
	closed = true
	return out.Close()
}

func checkVector(v []float32, x expertManifest) error {
	switch late := x.Index.Kind == ann.Late; {
	case late && (len(v) == 0 || len(v)%x.Dimension != 0):
		return fmt.Errorf("has %d numbers, which is no list of vectors of %d", len(v), x.Dimension)
	case !late && len(v) != x.Dimension:
		return fmt.Errorf("has %d numbers, the expert says %d", len(v), x.Dimension)
	}
	for i, value := range v {
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			return fmt.Errorf("has %v as number %d", value, i)
		}
	}
	return nil
}
