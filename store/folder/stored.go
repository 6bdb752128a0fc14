package folder

import (
	"context"
	"fmt"
	"io"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// WordParams returns the parameters of BM25 that the words of the generation were indexed with.
func (g *Generation) WordParams() bm25.Params { return g.manifest.Words.Params() }

// Source returns a stream of all passages of the generation, in the order of their ids, for building another
// collection. The generation has to stay pinned meanwhile.
func (g *Generation) Source() store.Stream { return &storedSource{generation: g} }

// storedSource is a stream of the passages of a generation. It looks up sourceAhead
// of them at a time.
type storedSource struct {
	generation *Generation
	after      string
	next       []rank.Ordinal
	done       int64
}

// sourceAhead is how many passages are looked up at once.
const sourceAhead = 256

// Next returns the next passage, and io.EOF after the last. It fails if a file is damaged.
func (s *storedSource) Next() (p corpus.Passage, err error) {
	if len(s.next) == 0 {
		s.next, err = s.generation.After(s.after, sourceAhead)
		if err != nil {
			return p, err
		}
		if len(s.next) == 0 {
			return p, io.EOF
		}
	}
	p, err = s.generation.Passage(s.next[0])
	if err != nil {
		return p, err
	}
	s.next = s.next[1:]
	s.after = p.ID
	s.done++
	return p, nil
}

// Place returns the collection's folder, for messages; it has no line.
func (s *storedSource) Place() corpus.Place { return corpus.Place{File: s.generation.dir} }

// Progress returns how many passages were read, of how many.
func (s *storedSource) Progress() (done, total int64) { return s.done, int64(s.generation.Len()) }

// StoredEncoders returns an encoder for each expert of the generation that reads the stored vectors and computes none,
// for building another collection from Source. It fails if an expert has a vector for each part of a passage. The
// generation has to stay pinned.
func (g *Generation) StoredEncoders() (out []store.PassageEncoder, err error) {
	for _, x := range g.manifest.Experts {
		kind := g.manifest.Keeper(x.Name).Index.Kind
		e := storedEncoder{expert: x, late: kind == ann.Late, sparse: kind == ann.Sparse}
		if x.Parts || g.manifest.Keeper(x.Name).Parts {
			return nil, fmt.Errorf("expert %q has vectors of parts of passages", x.Name)
		}
		if x.Owner == "" {
			e.generation = g
			e.vectors, _ = g.Expert(x.Name)
		}
		out = append(out, e)
	}
	return out, nil
}

// storedEncoder returns the stored vectors of one expert of a generation.
type storedEncoder struct {
	expert     manifest.Expert
	late       bool
	sparse     bool
	generation *Generation
	vectors    *Vectors
}

// Name returns the expert's name.
func (e storedEncoder) Name() string { return e.expert.Name }

// Dimension returns how many numbers a vector has.
func (e storedEncoder) Dimension() int { return e.expert.Dimension }

// Fingerprint returns the fingerprint of the encoder that made the vectors.
func (e storedEncoder) Fingerprint() string { return e.expert.Fingerprint }

// Late reports whether a passage has a vector for each of its tokens. It is false for an expert that searches another
// one's vectors.
func (e storedEncoder) Late() bool { return e.late && e.expert.Owner == "" }

// Sparse reports whether the vectors are sparse. It is false for an expert that searches another one's vectors.
func (e storedEncoder) Sparse() bool { return e.sparse && e.expert.Owner == "" }

// Parts returns nil: passages are not cut into parts.
func (e storedEncoder) Parts() func(text string) []rank.Span { return nil }

// Owner returns the expert whose vectors this one searches; "": its own.
func (e storedEncoder) Owner() string { return e.expert.Owner }

// EncodePassages returns the stored vectors of passages, by their ids. The text may be the whole or one of its Windows.
// It fails if an id is not in the generation, the text is neither, or the expert has no vectors of its own.
func (e storedEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	if e.vectors == nil {
		return nil, fmt.Errorf("expert %q has no vectors of its own", e.expert.Name)
	}
	for _, p := range passages {
		ordinal, ok, err := e.generation.Ordinal(p.ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("passage %q is not in the collection", p.ID)
		}
		vector, err := e.vectors.Vector(ordinal)
		if err != nil {
			return nil, err
		}
		if n := e.expert.Dimension; !e.late && !e.sparse && len(vector) > n {
			i, err := e.windowOf(ordinal, &p)
			if err != nil {
				return nil, err
			}
			vector = vector[i*n : (i+1)*n]
		}
		out = append(out, vector)
	}
	return out, ctx.Err()
}

// Windows returns the parts of a stored passage's text that have a vector each (store.WindowReader); nil if the
// passage has one vector or is unknown, and none, but not nil, if it has no vector. cut is always false.
func (e storedEncoder) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	if e.vectors == nil || e.sparse {
		return nil, false
	}
	ordinal, ok, err := e.generation.Ordinal(p.ID)
	if err != nil || !ok {
		return nil, false // EncodePassages returns the error
	}
	if e.late {
		if vector, err := e.vectors.Vector(ordinal); err == nil && len(vector) == 0 {
			return []rank.Span{}, false
		}
		return nil, false
	}
	return e.windowsAt(ordinal), false
}

// windowsAt returns the windows of a passage, not nil if it has no vector; nil if it has one, or they are damaged.
func (e storedEncoder) windowsAt(ordinal rank.Ordinal) []rank.Span {
	spans, err := e.vectors.Spans(ordinal)
	if err != nil || spans == nil {
		return nil
	}
	return windowsIn(spans)
}

// windowOf returns the index of the window whose text is p.Text, among those of the stored passage; 0 if p has the
// whole text. It fails if there is no such window.
func (e storedEncoder) windowOf(ordinal rank.Ordinal, p *corpus.Passage) (int, error) {
	whole, err := e.generation.Passage(ordinal)
	if err != nil || whole.Text == p.Text {
		return 0, err
	}
	for i, s := range e.windowsAt(ordinal) {
		if whole.Text[s.Begin:s.End] == p.Text {
			return i, nil
		}
	}
	return 0, fmt.Errorf("passage %q has no window with the text %.80q", p.ID, p.Text)
}
