package encoder

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"example.org/conclave/models"
)

// Reranker scores passages for a question (a cross-encoder). It is safe for concurrent use;
// Close it to free its memory and threads.
type Reranker struct{ pairs }

// Relevance is the score of a passage for a question.
type Relevance struct {
	Score float64 // a logit, the larger the better the passage answers
	// Cut says that question and passage are longer together than what was read.
	Cut bool
}

// OpenReranker loads the tokenizer and the graph of a reranker's bundle and tests them. It fails if the bundle is
// of another kind, a file does not work or the runtime is closed. The caller closes the reranker, before the
// runtime.
func (r *Runtime) OpenReranker(b *models.Bundle, o Running) (*Reranker, error) {
	if b.Manifest.Kind != models.KindReranker {
		return nil, fmt.Errorf("%s is no reranker: it is of kind %s", b.Manifest.Name, b.Manifest.Kind)
	}
	x := new(Reranker)
	if err := x.openPairs(r, b, o, rerankerGraph(b)); err != nil {
		return nil, fmt.Errorf("opening the reranker %s: %w", b.Manifest.Name, err)
	}
	return x, nil
}

// Score returns the relevance of each passage for a question, in their order. It reads a passage's title only if
// the bundle's template says so. The pairs are batched with those of other callers; a score does not depend on the
// other passages, within 1e-4. It notes how long that took for Expect. Errors are as for Encoder.EncodeQuestion.
func (x *Reranker) Score(ctx context.Context, question string, passages []Text) ([]Relevance, error) {
	taken := x.startClock(len(passages))
	scores := make([]Relevance, len(passages))
	group, within := errgroup.WithContext(ctx)
	var err error
	for i, p := range passages {
		var ids []int32
		ids, scores[i].Cut, err = x.pairTokens(question, p)
		if err != nil {
			break
		}
		group.Go(func() error {
			logits, err := x.batcher.Question(within, ids)
			if err == nil {
				scores[i].Score = float64(logits[0])
			}
			return err
		})
	}
	err = errors.Join(err, group.Wait())
	taken(err)
	if err != nil {
		return nil, fmt.Errorf("scoring %d passages with %s: %w", len(passages), x.Name(), err)
	}
	return scores, nil
}

// pairTokens returns the tokens of a question with a passage; cut says that some did not fit. It fails if a text cannot
// be tokenised.
func (x *Reranker) pairTokens(question string, p Text) (ids []int32, cut bool, err error) {
	r := x.bundle.Manifest.Reranker
	text := p.Text
	if r.Template == models.TemplateTitleDotText && p.Title != "" {
		text = p.Title + ". " + text
	}
	ids, _, err = x.tokenizer.EncodePair(question, text, r.Tokens)
	if err == nil && len(ids) == r.Tokens {
		longer, _, err := x.tokenizer.EncodePair(question, text, r.Tokens+1)
		return ids, len(longer) > len(ids), err
	}
	return ids, false, err
}
