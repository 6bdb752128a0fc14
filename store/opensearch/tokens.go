package opensearch

import (
	"context"
	"errors"

	"example.org/conclave/ann"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/opensearch/schema"
)

// tokens are those of late interaction, a list for each passage.
type tokens struct {
	*request
	expert schema.Expert
}

// Search returns an error: late interaction scores what other sources found, and searches nothing.
func (tokens) Search(context.Context, []float32, int, bool) ([]rank.Hit, error) {
	return nil, errors.New("late interaction searches nothing in a cluster")
}

// Scores writes the late-interaction score of each passage to out, rank.NoVector for one that the expert left out, and
// NaN for one that is gone. The cluster computes the
// scores of a question that was announced (Expect); otherwise, and for passages whose codes are at hand, conclave
// does, and fetches codes that are missing. It fails if the cluster does not answer or codes are malformed; out then
// means nothing.
func (t tokens) Scores(ctx context.Context, query []float32, passages []rank.Ordinal, out []float32) error {
	scores, err := t.scoreInCluster(ctx, query, passages)
	if err == nil && scores == nil {
		err = t.fetchCodes(ctx, t.expert, passages)
	}
	if err != nil {
		return err
	}
	for i, o := range passages {
		out[i] = notANumber
		codes := t.codesAt(t.expert, o)
		if codes != nil && len(codes) == 0 {
			out[i] = rank.NoVector
			continue
		}
		if codes == nil {
			if score, ok := scores[o]; ok { // else it was deleted
				out[i] = score
			}
			continue
		}
		if err := ann.CodesSimilarity(query, t.expert.Dimension, [][]byte{codes}, out[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// FetchVectors fetches the codes of passages that are not at hand, so that Vector returns their vectors. Passages
// that are gone get none, without an error.
func (t tokens) FetchVectors(ctx context.Context, passages []rank.Ordinal) error {
	return t.fetchCodes(ctx, t.expert, passages)
}

// Vector returns the vectors of a passage's tokens one after the other, as its codes have them; nil if the expert left
// it out. It fails if the codes were not fetched.
func (t tokens) Vector(passage rank.Ordinal) ([]float32, error) {
	codes := t.codesAt(t.expert, passage)
	switch {
	case codes == nil:
		return nil, errors.New("the codes of the passage were not fetched")
	case len(codes) == 0:
		return nil, nil
	}
	return ann.TokenVectors(codes, t.expert.Dimension)
}
