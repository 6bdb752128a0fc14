package endpoints

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

// Reranker asks one model how well passages answer a question. Its methods may be called by several goroutines.
type Reranker struct {
	client  *client
	breaker *gobreaker.CircuitBreaker[[]float64]
	lately  atomic.Int64 // nanoseconds of a request, the later ones weigh more; 0: none was answered yet
}

// NewReranker returns the model at a server with the interface Cohere, which Jina's has too, or TEI. It asks for
// nothing yet. It fails if the address is invalid.
func NewReranker(s Server) (*Reranker, error) {
	c, err := newClient(s)
	if err != nil {
		return nil, err
	}
	return &Reranker{client: c, breaker: gobreaker.NewCircuitBreaker[[]float64](gobreaker.Settings{
		Timeout:     restTime,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= mostFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
	})}, nil
}

// rerankBytes is the largest number of bytes of an answer for each passage: servers may send the passages back.
const rerankBytes = 1 << 20

// Score returns a score for each passage, in their order: the greater, the better it answers. Probabilities become
// logits. It asks once. The error is an *Error, or ctx's. Without passages it asks nothing and returns nil.
func (r *Reranker) Score(ctx context.Context, question string, passages []string) ([]float64, error) {
	if len(passages) == 0 {
		return nil, nil
	}
	began := time.Now()
	scores, err := r.breaker.Execute(func() ([]float64, error) { return r.ask(ctx, question, passages, false) })
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, &Error{
			Reason: fmt.Sprintf("its server failed lately, and is asked again after %v", restTime), Again: true,
		}
	case err != nil:
		return nil, err
	}
	took := int64(time.Since(began))
	if before := r.lately.Load(); before > 0 {
		took = (3*before + took) / 4
	}
	r.lately.Store(took)
	return scores, nil
}

// Close ends the connections that are not in use. It returns nil.
func (r *Reranker) Close() error {
	r.client.http.CloseIdleConnections()
	return nil
}

// Expect returns how long the next request will take, by how long the last ones took; 0 if none was answered yet. A
// request of more passages is not counted as longer.
func (r *Reranker) Expect(int) time.Duration { return time.Duration(r.lately.Load()) }

// Check asks for the score of a text and returns why that failed, with the server's message; nil if it did not.
func (r *Reranker) Check(ctx context.Context) error {
	_, err := r.ask(ctx, probeTexts[0], probeTexts[1:2], true)
	return err
}

// ask is one request for the scores of passages. harmless is that of client.post.
func (r *Reranker) ask(ctx context.Context, question string, passages []string, harmless bool) ([]float64, error) {
	type score struct {
		Index  *int     `json:"index"`
		Cohere *float64 `json:"relevance_score"`
		TEI    *float64 `json:"score"`
	}
	var list []score
	var err error
	most := int64(len(passages))*rerankBytes + aroundAnswer
	if r.client.server.Interface == TEI {
		in := map[string]any{"query": question, "texts": passages, "raw_scores": true, "truncate": true}
		err = r.client.post(ctx, "/rerank", in, &list, most, harmless)
	} else {
		var answer struct {
			Results []score `json:"results"`
		}
		in := map[string]any{"query": question, "documents": passages, "top_n": len(passages)}
		if r.client.server.Model != "" {
			in["model"] = r.client.server.Model
		}
		err = r.client.post(ctx, "/rerank", in, &answer, most, harmless)
		list = answer.Results
	}
	if err != nil {
		return nil, err
	}
	if len(list) != len(passages) {
		return nil, notUnderstood("it has %d scores for %d passages", len(list), len(passages))
	}
	out := make([]float64, len(passages))
	seen := make([]bool, len(passages))
	probabilities := r.client.server.Interface != TEI // which sends what the model gave
	for _, s := range list {
		value := s.Cohere
		if value == nil {
			value = s.TEI
		}
		if s.Index == nil || *s.Index < 0 || *s.Index >= len(out) || seen[*s.Index] || value == nil {
			return nil, notUnderstood("its scores are not one for each of %d passages", len(passages))
		}
		seen[*s.Index] = true
		out[*s.Index] = *value
		probabilities = probabilities && *value >= 0 && *value <= 1
	}
	if probabilities {
		for i, p := range out {
			out[i] = logit(p)
		}
	}
	return out, nil
}

// logit returns the logarithm of the odds of a probability, which is taken for one from 1e-6 to 1 - 1e-6.
func logit(p float64) float64 {
	p = min(max(p, 1e-6), 1-1e-6)
	return math.Log(p / (1 - p))
}
