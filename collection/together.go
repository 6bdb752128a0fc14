package collection

import (
	"context"
	"fmt"
	"slices"

	"conclave/ann"
	"conclave/corpus"
	"conclave/disk"
)

// carrier is an encoder that makes another expert's vectors in the same pass as
// its own: a late one, of its base.
type carrier interface {
	PassageEncoder
	// Carried is the name of the other expert; "" where there is none.
	Carried() string
	// EncodePassagesBoth is EncodePassages of both.
	EncodePassagesBoth(ctx context.Context, passages []corpus.Passage) (own, carried [][]float32, err error)
}

// encodedTogether makes the vectors of all encoders' experts of plan: of two
// that one pass can serve, whichever has its turn first makes both, and the
// other finds them.
func encodedTogether(plan *manifest, encoders []PassageEncoder, o BuildOptions) map[string]vectorMaker {
	makers := map[string]vectorMaker{}
	for _, e := range encoders {
		makers[e.Name()] = encodedBy(e, o)
	}
	for _, e := range encoders {
		c, ok := e.(carrier)
		if !ok || makers[c.Carried()] == nil {
			continue
		}
		own, carried := plan.expert(c.Name()), plan.expert(c.Carried())
		if own == nil || carried == nil {
			continue
		}
		pass := &sharedPass{encoder: c, experts: [2]expertManifest{*own, *carried}, options: o}
		makers[own.Name], makers[carried.Name] = pass.vectors, pass.vectors
	}
	return makers
}

// sharedPass is the pass of two experts over one segment's passages.
type sharedPass struct {
	encoder carrier
	experts [2]expertManifest // the encoder's own, and the carried one
	options BuildOptions
	made    string // the file of the one whose turn is still to come
}

// vectors is a vectorMaker of either.
func (s *sharedPass) vectors(ctx context.Context, d disk.Disk, path string, store *corpus.Store, x expertManifest, r *reporter) (err error) {
	if s.made != "" {
		return d.Rename(s.made, path)
	}
	paths := [2]string{path, path + ".other"}
	if s.experts[1].Name == x.Name {
		slices.Reverse(paths[:])
	}
	var files [2]vectorFile
	for i, x := range s.experts {
		out, err := ann.Create(d, x.Index.Kind, paths[i], x.Dimension)
		if err != nil {
			files[0].abort()
			return err
		}
		files[i] = vectorFile{expert: x, to: out}
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
	err = eachBatch(ctx, store, name, s.options, r, func(batch []corpus.Passage) error {
		own, carried, err := s.encoder.EncodePassagesBoth(ctx, batch)
		if err != nil {
			return err
		}
		for i, vectors := range [][][]float32{own, carried} {
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
