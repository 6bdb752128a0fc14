package experts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/endpoints"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/learned"
)

// remoteReranker is a reranker whose model is behind an HTTP interface.
type remoteReranker struct {
	*endpoints.Reranker
	config configs.Reranker
}

// openRemoteReranker returns the model of a configured reranker, without asking it for anything. It fails if its key
// cannot be read.
func openRemoteReranker(c configs.Reranker) (*remoteReranker, error) {
	key, err := keyFrom("reranker "+c.Name, string(c.Key), c.KeyVariable, c.KeyFile)
	if err != nil {
		return nil, err
	}
	r, err := endpoints.NewReranker(endpoints.Server{
		Interface: c.Interface, Address: c.Address, Model: c.Model, Key: key, Timeout: c.Timeout,
	})
	if err != nil {
		return nil, fmt.Errorf("reranker %s: %w", c.Name, err)
	}
	return &remoteReranker{r, c}, nil
}

// Score implements learned.Reranker: it sends the question and the passages, each with its title, and returns a
// Relevance for each. None is known to be cut. The error names the reranker and its host, and wraps that of
// endpoints.Reranker.Score.
func (r *remoteReranker) Score(
	ctx context.Context,
	question string,
	passages []corpus.Passage,
) (out []learned.Relevance, err error) {
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = passageText(encoder.Text{Title: p.Title, Text: p.Text})
	}
	scores, err := r.Reranker.Score(ctx, question, texts)
	if err != nil {
		return nil, fmt.Errorf("reranker %s at %s: %w", r.config.Name, endpoints.Host(r.config.Address), err)
	}
	for _, s := range scores {
		out = append(out, learned.Relevance{Score: s})
	}
	return out, nil
}

// KnownWords returns the words of a text, all of them as known: the model's vocabulary is not.
func (r *remoteReranker) KnownWords(text string) (words, whole, unknown int) {
	n := len(strings.Fields(text))
	return n, n, 0
}

// asLoadedReranker returns the reranker as the search engine lists it. Its fingerprint is the hash of its model's name
// and interface: that the model behind them changed is not noticed.
func (r *remoteReranker) asLoadedReranker() learned.LoadedReranker {
	sum := sha256.Sum256(fmt.Appendf(nil, "reranker %s %q", r.config.Interface, r.config.Model))
	return learned.LoadedReranker{
		Reranker: r, Name: r.config.Name, Expect: r.Expect,
		Info: learned.RerankerInfo{
			Name: r.config.Name, Fingerprint: hex.EncodeToString(sum[:]), Provider: "endpoint", Precision: "unknown",
			Endpoint: &learned.EndpointInfo{Host: endpoints.Host(r.config.Address), Model: r.config.Model},
		},
	}
}

// CheckRerankers asks each configured reranker behind an interface for the score of a text, one after the other, and
// returns a result for each.
func CheckRerankers(ctx context.Context, config configs.Config) (out []RemoteCheck) {
	for _, c := range config.CompleteRerankers() {
		if c.Address == "" {
			continue
		}
		c.Timeout = min(c.Timeout, openingTime)
		check := RemoteCheck{Name: c.Name, Detail: fmt.Sprintf("questions and the first passages of answers are sent to %s (model %q)",
			endpoints.Host(c.Address), c.Model)}
		r, err := openRemoteReranker(c)
		if err != nil {
			check.Err, check.Unusable = err, true
		} else {
			check.Err = r.Check(ctx)
		}
		out = append(out, check)
	}
	return out
}
