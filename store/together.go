package store

import (
	"context"
	"fmt"

	"example.org/conclave/internal/corpus"
)

// EncodeTogether gives the vectors of passages by every encoder that has its own, by the
// names of the encoders: what a segment of them would hold. Two that one pass can serve
// share it.
func EncodeTogether(
	ctx context.Context,
	encoders []PassageEncoder,
	shared []SharedPass,
	passages []corpus.Passage,
) (map[string][][]float32, error) {
	out := map[string][][]float32{}
	if len(passages) == 0 {
		return out, nil
	}
	wanted := map[string]PassageEncoder{}
	for _, e := range encoders {
		if e.Owner() == "" {
			wanted[e.Name()] = e
		}
	}
	check := func(e PassageEncoder, vectors [][]float32, err error) error {
		if err == nil {
			err = CheckMade(e, vectors, passages)
		}
		if err != nil {
			return fmt.Errorf(
				"expert %s: encoding passages %q to %q: %w",
				e.Name(),
				passages[0].ID,
				passages[len(passages)-1].ID,
				err,
			)
		}
		out[e.Name()] = vectors
		return nil
	}
	for _, s := range shared {
		late, dense := wanted[s.Late.Name()], wanted[s.Dense.Name()]
		if late == nil || dense == nil || dense.Parts() != nil || late.Fingerprint() != s.Late.Fingerprint() ||
			dense.Fingerprint() != s.Dense.Fingerprint() ||
			out[late.Name()] != nil ||
			out[dense.Name()] != nil {
			continue
		}
		ofLate, ofDense, err := s.Encode(ctx, passages)
		if err := check(late, ofLate, err); err != nil {
			return nil, err
		}
		if err := check(dense, ofDense, err); err != nil {
			return nil, err
		}
	}
	for _, e := range encoders {
		if wanted[e.Name()] == nil || out[e.Name()] != nil {
			continue
		}
		vectors, err := e.EncodePassages(ctx, passages)
		if err := check(e, vectors, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}
