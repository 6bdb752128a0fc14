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

// reuse finds vectors that a generation has for the texts of passages that are put: of
// passages that are replaced or deleted at the same time, such as the earlier version of
// a document, of which most passages often say what they said before. They are made by
// the encoders of the experts that the generation names.
type reuse struct {
	generation *Generation
	known      map[uint64][]rank.Ordinal // by fingerprint, which is a little less than the text
}

// reusable returns what can be reused of the passages with some ids.
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

// vector returns the vector that an encoder made of a passage, or of a part of one, which
// it is given as a passage with the part's text; nil: it has to be made. Damage is found
// by searches, and makes nothing of it reused.
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

// ofPart returns the vector of the part of a passage that has a text; nil where none has.
func (v *Vectors) ofPart(o rank.Ordinal, passage, part string) []float32 {
	ix, local, err := v.indexOf(o)
	grouped, ok := ix.(*ann.Grouped)
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

// encoders returns encoders that encode what cannot be reused, for passages whose ids and
// texts are those of put.
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

// prints returns the fingerprints of passages by their ids.
func (r *reuse) prints(put inMemory) map[string]uint64 {
	prints := make(map[string]uint64, len(put))
	for i := range put {
		prints[put[i].ID] = put[i].Fingerprint()
	}
	return prints
}

// shared does for passes over two experts what encoders does.
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

// reusing is an encoder in front of which the vectors that are there are looked up.
type reusing struct {
	store.PassageEncoder
	from   *reuse
	prints map[string]uint64
}

// Sparse reports what store.IsSparse reports of the encoder.
func (e reusing) Sparse() bool { return store.IsSparse(e.PassageEncoder) }

// Windows implements store.WindowReader as the encoder does.
func (e reusing) Windows(p corpus.Passage) ([]rank.Span, bool) {
	if r, ok := e.PassageEncoder.(store.WindowReader); ok {
		return r.Windows(p)
	}
	return nil, false
}

// EncodePassages implements PassageEncoder.
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
