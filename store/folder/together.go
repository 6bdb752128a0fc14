package folder

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// encodedTogether makes the vectors of all encoders' experts of plan: of two
// that one pass can serve, whichever has its turn first makes both, and the
// other finds them.
func encodedTogether(plan *manifest, encoders []store.PassageEncoder, o store.BuildOptions) map[string]vectorMaker {
	makers := map[string]vectorMaker{}
	for _, e := range encoders {
		makers[e.Name()] = encodedBy(e, o)
	}
	asked := func(e store.PassageEncoder) *expertManifest {
		if x := plan.expert(e.Name()); x != nil && makers[x.Name] != nil && x.Fingerprint == e.Fingerprint() && !x.Parts &&
			x.Owner == "" {
			return x
		}
		return nil
	}
	for _, s := range o.Shared {
		if late, dense := asked(s.Late), asked(s.Dense); late != nil && dense != nil {
			pass := &sharedPass{encode: s.Encode, experts: [2]expertManifest{*late, *dense}, options: o}
			makers[late.Name], makers[dense.Name] = pass.vectors, pass.vectors
		}
	}
	return makers
}

// sharedPass is the pass of two experts over one segment's passages.
type sharedPass struct {
	encode  func(context.Context, []corpus.Passage) (late, dense [][]float32, err error)
	experts [2]expertManifest // in this order
	options store.BuildOptions
	made    string // the file of the one whose turn is still to come
}

// vectors serves as a vectorMaker of either.
func (s *sharedPass) vectors(
	ctx context.Context,
	d disk.Disk,
	to vectorPaths,
	texts passages,
	x expertManifest,
	r *reporter,
) (err error) {
	path := to.vectors
	if s.made != "" {
		return d.Rename(s.made, path)
	}
	paths := [2]string{path, path + ".other"}
	if s.experts[1].Name == x.Name {
		slices.Reverse(paths[:])
	}
	var files [2]vectorFile
	for i, x := range s.experts {
		files[i], err = createVectors(d, vectorPaths{vectors: paths[i]}, x)
		if err != nil {
			files[0].abort()
			return err
		}
	}
	defer func() {
		for i := range files {
			files[i].abort()
		}
		if err != nil {
			_ = d.Remove(path + ".other") // else the next writer does
		}
	}()
	name := s.experts[1].Name + " and " + s.experts[0].Name
	err = eachBatch(ctx, texts, name, s.options, r, func(batch []corpus.Passage) error {
		late, dense, err := s.encode(ctx, batch)
		if err != nil {
			return err
		}
		for i, vectors := range [][][]float32{late, dense} {
			if err := files[i].append(batch, vectors); err != nil {
				return fmt.Errorf("%s: %w", s.experts[i].Name, err)
			}
		}
		return nil
	})
	for i := range files {
		if err == nil {
			err = files[i].close()
		}
	}
	if err == nil {
		s.made = path + ".other"
	}
	return err
}
