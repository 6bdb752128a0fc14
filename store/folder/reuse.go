package folder

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// reuse finds stored vectors for the texts of passages that are put, so that they need not
// be encoded. It looks at the passages that are replaced or deleted at the same time, such as
// those of the earlier version of a document, most of which are often unchanged.
type reuse struct {
	generation *Generation
	known      map[uint64][]rank.Ordinal // by fingerprint, which is a little less than the text
}

// reusable returns the passages with these ids, by their fingerprints, for reuse of their vectors. Unknown ids are
// left out. It fails if a file is damaged.
func (g *Generation) reusable(ids iter.Seq[string]) (*reuse, error) {
	r := &reuse{generation: g, known: map[uint64][]rank.Ordinal{}}
	for id := range ids {
		o, ok, err := g.Ordinal(id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		x, err := g.Fingerprint(o)
		if err != nil {
			return nil, err
		}
		r.known[x] = append(r.known[x], o)
	}
	return r, nil
}

// vector returns the stored vector of a passage with the same title and text as p, or of a part with that text; nil: it
// has to be computed. whole is the fingerprint of the passage that p is or is a part of. It returns nil for damaged
// vectors, which searches report.
func (r *reuse) vector(e store.PassageEncoder, p *corpus.Passage, whole uint64) []float32 {
	v, ok := r.generation.Expert(e.Name())
	if !ok || v.expert.Fingerprint != e.Fingerprint() || v.expert.Owner != "" {
		return nil
	}
	for _, o := range r.known[whole] {
		old, err := r.generation.Passage(o)
		if err != nil || old.Title != p.Title {
			continue
		}
		if !v.Parts() && old.Text == p.Text {
			vector, err := v.Vector(o)
			if err == nil && (e.Late() || store.IsSparse(e) || len(vector) == e.Dimension()) {
				return vector
			}
			continue
		}
		if vector := v.ofPart(o, old.Text, p.Text); vector != nil {
			return vector
		}
	}
	return nil
}

// ofPart returns a copy of the vector of one part of the passage with ordinal o. passage is the text of the whole
// passage, part that of the part. It returns nil if no part has this text, the expert does not split passages, or the
// vectors are damaged.
func (v *Vectors) ofPart(o rank.Ordinal, passage, part string) []float32 {
	ix, local, err := v.indexOf(o)
	grouped, ok := ix.(*ann.GroupedIndex)
	if err != nil || !ok {
		return nil
	}
	for i, s := range grouped.Spans(local) {
		if int(s.End) <= len(passage) && passage[s.Begin:s.End] == part {
			rows := ix.Vector(local)
			if d := v.expert.Dimension; len(rows) >= (i+1)*d {
				return slices.Clone(rows[i*d : (i+1)*d])
			}
		}
	}
	return nil
}

// encoders returns encoders that look up each vector first and compute only the missing ones; all itself if r has no
// passages. put must have the passages that will be encoded.
func (r *reuse) encoders(all []store.PassageEncoder, put inMemory) []store.PassageEncoder {
	if len(r.known) == 0 {
		return all
	}
	out := make([]store.PassageEncoder, len(all))
	prints := r.prints(put)
	for i, e := range all {
		out[i] = reusing{e, r, prints}
	}
	return out
}

// prints returns a map from the id of each passage to the fingerprint of its title and text.
func (r *reuse) prints(put inMemory) map[string]uint64 {
	prints := make(map[string]uint64, len(put))
	for i := range put {
		prints[put[i].ID] = put[i].Fingerprint()
	}
	return prints
}

// shared returns the passes over two experts, each changed so that it looks up vectors first and encodes only passages
// of which a vector is missing, for both experts. It returns all itself if r has no passages. put must have the
// passages that will be encoded.
func (r *reuse) shared(all []store.SharedPass, put inMemory) []store.SharedPass {
	if len(r.known) == 0 {
		return all
	}
	out := slices.Clone(all)
	prints := r.prints(put)
	for i, s := range all {
		out[i].Encode = func(ctx context.Context, passages []corpus.Passage) (late, dense [][]float32, err error) {
			late, dense = make([][]float32, len(passages)), make([][]float32, len(passages))
			var rest []corpus.Passage
			var places []int
			for n := range passages {
				p := &passages[n]
				late[n], dense[n] = r.vector(s.Late, p, prints[p.ID]), r.vector(s.Dense, p, prints[p.ID])
				if late[n] == nil || dense[n] == nil {
					rest, places = append(rest, *p), append(places, n)
				}
			}
			if len(rest) == 0 {
				return late, dense, ctx.Err()
			}
			ofLate, ofDense, err := s.Encode(ctx, rest)
			if err == nil && (len(ofLate) != len(rest) || len(ofDense) != len(rest)) {
				err = fmt.Errorf("the encoders gave %d and %d vectors for %d passages", len(ofLate), len(ofDense), len(rest))
			}
			if err != nil {
				return nil, nil, err
			}
			for n, at := range places {
				late[at], dense[at] = ofLate[n], ofDense[n]
			}
			return late, dense, nil
		}
	}
	return out
}

// reusing is an encoder that first looks up stored vectors, and encodes only what has none.
type reusing struct {
	store.PassageEncoder
	from   *reuse
	prints map[string]uint64
}

// Sparse reports whether the encoder's vectors are sparse (store.IsSparse).
func (e reusing) Sparse() bool { return store.IsSparse(e.PassageEncoder) }

// Windows returns the encoder's own windows of a passage (store.WindowReader), and whether it leaves text of the
// passage unread; nil and false if it has none.
func (e reusing) Windows(p corpus.Passage) ([]rank.Span, bool) {
	if r, ok := e.PassageEncoder.(store.WindowReader); ok {
		return r.Windows(p)
	}
	return nil, false
}

// EncodePassages returns a vector for each passage, in their order: the stored one, or the encoder's where none is
// stored. It fails if the encoder does or gives another number of vectors.
func (e reusing) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	out := make([][]float32, len(passages))
	var rest []corpus.Passage
	var places []int
	for n := range passages {
		p := &passages[n]
		out[n] = e.from.vector(e.PassageEncoder, p, e.prints[p.ID])
		if out[n] == nil {
			rest, places = append(rest, *p), append(places, n)
		}
	}
	if len(rest) == 0 {
		return out, ctx.Err()
	}
	made, err := e.PassageEncoder.EncodePassages(ctx, rest)
	if err == nil && len(made) != len(rest) {
		err = fmt.Errorf("the encoder gave %d vectors for %d passages", len(made), len(rest))
	}
	if err != nil {
		return nil, err
	}
	for n, at := range places {
		out[at] = made[n]
	}
	return out, nil
}
