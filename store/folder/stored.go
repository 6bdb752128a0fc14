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

// WordParams returns the constants that the words of the generation were indexed with.
func (g *Generation) WordParams() bm25.Params { return g.manifest.Words.Params() }

// Source gives the passages of the generation, in the order of their ids.
func (g *Generation) Source() store.Stream { return &storedSource{generation: g} }

// storedSource reads some ids ahead.
type storedSource struct {
	generation *Generation
	after      string
	next       []rank.Ordinal
	done       int64
}

// sourceAhead is how many ids are found at once.
const sourceAhead = 256

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

// Place names the collection; there are no lines.
func (s *storedSource) Place() corpus.Place { return corpus.Place{File: s.generation.dir} }

// Progress counts passages.
func (s *storedSource) Progress() (done, total int64) { return s.done, int64(s.generation.Len()) }

// StoredEncoders returns the experts of the generation as encoders that give the vectors
// that it has, and encode nothing. It is an error where a passage has a vector for each
// of several parts.
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

// storedEncoder is an expert of a generation.
type storedEncoder struct {
	expert     manifest.Expert
	late       bool
	sparse     bool
	generation *Generation
	vectors    *Vectors
}

func (e storedEncoder) Name() string                         { return e.expert.Name }
func (e storedEncoder) Dimension() int                       { return e.expert.Dimension }
func (e storedEncoder) Fingerprint() string                  { return e.expert.Fingerprint }
func (e storedEncoder) Late() bool                           { return e.late && e.expert.Owner == "" }
func (e storedEncoder) Sparse() bool                         { return e.sparse && e.expert.Owner == "" }
func (e storedEncoder) Parts() func(text string) []rank.Span { return nil }
func (e storedEncoder) Owner() string                        { return e.expert.Owner }

// EncodePassages reads the vectors of passages of the generation.
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

// Windows implements store.WindowReader, of passages of the generation.
func (e storedEncoder) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	if e.vectors == nil || e.late || e.sparse {
		return nil, false
	}
	ordinal, ok, err := e.generation.Ordinal(p.ID)
	if err != nil || !ok {
		return nil, false // EncodePassages tells
	}
	return e.windowsAt(ordinal), false
}

// windowsAt returns the windows of a passage; nil if it has one vector.
func (e storedEncoder) windowsAt(ordinal rank.Ordinal) []rank.Span {
	spans, err := e.vectors.Spans(ordinal)
	if err != nil {
		return nil
	}
	return windowsIn(spans)
}

// windowOf returns the number of the window of a passage whose text p has; 0 where p has all of it.
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
