// Package generation finds the tokens of an answer: greedily, or by beam search. It
// does not depend on a model: a Stepper computes the logits of the next token.
package generation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Stepper is a decoder that remembers what it has read.
type Stepper interface {
	// Step reads one more token for each row. Row i goes on from row from[i] of the
	// step before; the first step has one row and goes on from nothing. It gives for
	// each row the logit of every token of the vocabulary, and how the row's attention
	// is spread over the passages. Both are the caller's only until the next step.
	Step(ctx context.Context, tokens []int32, from []int) (logits, shares [][]float32, err error)
}

// Options are the parameters of Generate.
type Options struct {
	Start, End int32 // the tokens before and after an answer
	MaxTokens  int   // of the answer, End counted
	Beams      int   // 1: greedy
	// Each, unless nil, is called with the tokens so far, without End, after every token
	// of a greedy answer. For a beam search it is called once, with the answer.
	Each func(tokens []int32)
}

// Answer is the result of Generate.
type Answer struct {
	Tokens []int32 // without End
	// Complete says that End followed and not the limit.
	Complete bool
	// LogProbability is of the tokens, and of End if Complete, given the passages.
	LogProbability float64
	// Shares is how the attention is spread over the passages, on average over the
	// tokens; they add up to 1.
	Shares []float64
}

// Generate returns the best answer that it finds. Beam search is that of Hugging Face's transformers with its defaults:
// the score of an answer is its log-probability divided by its length, End counted, and the search ends when the best
// unfinished one, at its present length, cannot beat the worst of Beams finished ones. It fails for impossible options,
// if a step does, or if a logit is not a number.
func Generate(ctx context.Context, s Stepper, o Options) (Answer, error) {
	switch {
	case o.MaxTokens < 1:
		return Answer{}, fmt.Errorf("an answer of %d tokens was asked for; 1 is the least", o.MaxTokens)
	case o.Beams < 1:
		return Answer{}, fmt.Errorf("a search with %d beams was asked for; 1 is the least", o.Beams)
	}
	best, err := beamSearch(ctx, s, o)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Tokens: best.tokens, LogProbability: best.score, Shares: make([]float64, len(best.shares))}
	for i, share := range best.shares {
		a.Shares[i] = share / float64(len(best.tokens))
	}
	if n := len(a.Tokens) - 1; a.Tokens[n] == o.End {
		a.Tokens = a.Tokens[:n]
		a.Complete = true
	}
	if o.Each != nil && (o.Beams > 1 || !a.Complete) {
		o.Each(a.Tokens) // of a greedy answer all others have been told
	}
	return a, nil
}

// hypothesis is an answer or the beginning of one.
type hypothesis struct {
	tokens []int32
	row    int       // of the stepper's last step that it goes on from
	score  float64   // its log-probability
	shares []float64 // sums over its tokens
}

// perToken returns the log-probability divided by the number of tokens, by which finished answers are compared.
func (h *hypothesis) perToken() float64 { return h.score / float64(len(h.tokens)) }

// beamSearch returns the best finished answer, by its log-probability for each token, that a beam search with these
// options finds; its tokens end with End unless it was cut at MaxTokens. It calls o.Each after every token of a
// greedy search. It fails if a step does or a logit is not a number.
func beamSearch(ctx context.Context, s Stepper, o Options) (hypothesis, error) {
	running := []hypothesis{{}}
	finished := []hypothesis(nil)
	for {
		tokens, from := make([]int32, len(running)), make([]int, len(running))
		for i, h := range running {
			tokens[i], from[i] = o.Start, h.row
			if len(h.tokens) > 0 {
				tokens[i] = h.tokens[len(h.tokens)-1]
			}
		}
		logits, shares, err := s.Step(ctx, tokens, from)
		if err != nil {
			return hypothesis{}, err
		}
		next, err := bestContinuations(running, logits, 2*o.Beams)
		if err != nil {
			return hypothesis{}, err
		}
		var going []hypothesis
		for i, c := range next {
			ends := c.token == o.End || len(running[c.row].tokens)+1 == o.MaxTokens
			switch {
			case ends && i < o.Beams:
				finished = append(finished, running[c.row].extendBy(c, shares[c.row]))
			case !ends && len(going) < o.Beams:
				going = append(going, running[c.row].extendBy(c, shares[c.row]))
			}
		}
		slices.SortStableFunc(finished, func(a, b hypothesis) int { return cmp.Compare(b.perToken(), a.perToken()) })
		finished = finished[:min(len(finished), o.Beams)]
		full := len(finished) == o.Beams
		if len(going) == 0 || full && (o.Beams == 1 || !(going[0].perToken() > finished[o.Beams-1].perToken())) {
			return finished[0], nil
		}
		running = going
		if o.Each != nil && o.Beams == 1 {
			o.Each(running[0].tokens)
		}
	}
}

// candidate is a token that may follow a running hypothesis.
type candidate struct {
	row   int
	token int32
	score float64
}

// extendBy returns the hypothesis with one more token and the attention of its step added. It changes nothing in h.
func (h *hypothesis) extendBy(c candidate, shares []float32) hypothesis {
	next := hypothesis{
		tokens: append(slices.Clone(h.tokens), c.token),
		row:    c.row,
		score:  c.score,
		shares: make([]float64, len(shares)),
	}
	copy(next.shares, h.shares)
	for i, share := range shares {
		next.shares[i] += float64(share)
	}
	return next
}

// bestContinuations returns the n best continuations of the running hypotheses, the best first; of equal ones the
// earlier hypothesis, then the smaller token. It fails if a logit is not a number.
func bestContinuations(running []hypothesis, logits [][]float32, n int) ([]candidate, error) {
	var all []candidate // never more than n, in order
	for row, h := range running {
		normaliser, err := logSumExp(logits[row])
		if err != nil {
			return nil, err
		}
		for token, logit := range logits[row] {
			score := h.score + float64(logit) - normaliser
			if len(all) == n && score <= all[n-1].score {
				continue
			}
			at := len(all)
			for at > 0 && all[at-1].score < score {
				at--
			}
			all = slices.Insert(all, at, candidate{row, int32(token), score})
			all = all[:min(len(all), n)]
		}
	}
	return all, nil
}

// logSumExp returns the logarithm of the sum of the exponentials. It fails if a logit is NaN or +Inf, or none is
// finite.
func logSumExp(logits []float32) (float64, error) {
	largest := math.Inf(-1)
	for _, x := range logits {
		largest = max(largest, float64(x)) // NaN if one is
	}
	if math.IsNaN(largest) || math.IsInf(largest, 0) {
		return 0, errors.New("the decoder gave a logit that is not a number")
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - largest)
	}
	return largest + math.Log(sum), nil
}
