package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
)

// EncodeTogether returns the vectors of passages by the name of each encoder without an owner, in the order of the
// passages. Long passages are read in windows (WindowReader). A late and a dense encoder of one SharedPass are run
// together, in the windows of the dense one. It returns an empty map if there are no passages. It fails if an encoder
// does or returns vectors that do not fit, or ctx ends.
func EncodeTogether(
	ctx context.Context,
	encoders []PassageEncoder,
	shared []SharedPass,
	passages []corpus.Passage,
) (map[string][]EncodedPassage, error) {
	out := map[string][]EncodedPassage{}
	if len(passages) == 0 {
		return out, nil
	}
	wanted := map[string]PassageEncoder{}
	for _, e := range encoders {
		if e.Owner() == "" {
			wanted[e.Name()] = e
		}
	}
	failed := func(e PassageEncoder, err error) error {
		return fmt.Errorf("expert %s: encoding passages %q to %q: %w",
			e.Name(), passages[0].ID, passages[len(passages)-1].ID, err)
	}
	for _, s := range shared {
		late, dense := wanted[s.Late.Name()], wanted[s.Dense.Name()]
		if late == nil || dense == nil || dense.Parts() != nil || late.Fingerprint() != s.Late.Fingerprint() ||
			dense.Fingerprint() != s.Dense.Fingerprint() ||
			out[late.Name()] != nil ||
			out[dense.Name()] != nil {
			continue
		}
		read := splitIntoWindows(s.Dense, passages)
		var ofLate, ofDense [][]float32
		for some := range slices.Chunk(read.texts, len(passages)) {
			madeLate, madeDense, err := s.Encode(ctx, some)
			if err := cmp.Or(err, CheckMade(late, madeLate, some)); err != nil {
				return nil, failed(late, err)
			}
			if err := CheckMade(dense, madeDense, some); err != nil {
				return nil, failed(dense, err)
			}
			ofLate, ofDense = append(ofLate, madeLate...), append(ofDense, madeDense...)
		}
		out[late.Name()], out[dense.Name()] = read.join(ofLate, true), read.join(ofDense, false)
	}
	for _, e := range encoders {
		if wanted[e.Name()] == nil || out[e.Name()] != nil {
			continue
		}
		read := splitIntoWindows(e, passages)
		var vectors [][]float32
		for some := range slices.Chunk(read.texts, len(passages)) {
			made, err := e.EncodePassages(ctx, some)
			if err := cmp.Or(err, CheckMade(e, made, some)); err != nil {
				return nil, failed(e, err)
			}
			vectors = append(vectors, made...)
		}
		out[e.Name()] = read.join(vectors, e.Late() || IsSparse(e))
	}
	return out, nil
}
