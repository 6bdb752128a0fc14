package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/encoder"
	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
	"example.org/conclave/research/bench/peer"
	"example.org/conclave/research/bench/words"
)

// measurement is what is measured, and how.
type measurement struct {
	texts   []string
	python  string
	callers int
	threads int
	rounds  int
	limit   int
}

// result is the measurement of one model. Rates are questions a second and medians of rounds; ratios are ours divided
// by the peer's, medians of the rounds' ratios.
type result struct {
	Model     string `json:"model"`
	Precision string `json:"precision"`
	Provider  string `json:"provider"`
	Questions int    `json:"questions"`
	Callers   int    `json:"callers"`
	Rounds    int    `json:"rounds"`

	Rate            float64 `json:"qps"` // of concurrent callers, tokenising included
	PeerRate        float64 `json:"peer_qps"`
	Ratio           float64 `json:"ratio"`
	RatioOfBest     float64 `json:"ratio_of_best"`   // of the two fastest rounds
	PeerSortedRate  float64 `json:"peer_sorted_qps"` // given all questions sorted by length
	SortedRatio     float64 `json:"sorted_ratio"`
	SortedRatioBest float64 `json:"sorted_ratio_of_best"`

	// Milliseconds of a question that nobody else asks beside, each question's
	// least over the rounds: the mean, and the median.
	Alone           float64 `json:"alone_ms"`
	PeerAlone       float64 `json:"peer_alone_ms"`
	AloneMedian     float64 `json:"alone_median_ms"`
	PeerAloneMedian float64 `json:"peer_alone_median_ms"`

	RowsPerRun float64 `json:"rows_per_run"`
	Padding    float64 `json:"padding"` // share of the tokens

	best, peerBest, peerSortedBest float64 // rates of the fastest round
}

// compareSides returns the figures of encoder e and of the peer, which take turns for m.rounds rounds, after one that
// does not count. It fails if either does. precision is that of the model, for the result.
func (m *measurement) compareSides(
	ctx context.Context,
	e *encoder.Encoder,
	p *peer.Process,
	precision string,
) (result, error) {
	r := result{
		Model:     e.Name(),
		Precision: precision,
		Provider:  e.Provider(),
		Questions: len(m.texts),
		Callers:   m.callers,
		Rounds:    m.rounds,
	}
	n := float64(len(m.texts))
	alone := m.texts[:min(200, len(m.texts))]
	var formed batches
	var own, batch, sorted, ratios, sortedRatios []float64
	ownAlone, peerAlone := newBest(len(alone)), newBest(len(alone))
	for round := range m.rounds + 1 {
		inOrder, err := peer.Ask[float64](p, "batch")
		if err != nil {
			return r, err
		}
		before := e.Stats()
		seconds, err := m.timeTogether(ctx, e)
		if err != nil {
			return r, err
		}
		formed.add(before, e.Stats())
		byLength, err := peer.Ask[float64](p, "sorted")
		if err != nil {
			return r, err
		}
		single, err := peer.Ask[[]float64](p, "single")
		if err != nil {
			return r, err
		}
		took, err := oneByOne(ctx, e, alone)
		if err != nil {
			return r, err
		}
		if round == 0 {
			continue // warm-up
		}
		own, batch, sorted = append(own, n/seconds), append(batch, n/inOrder), append(sorted, n/byLength)
		ratios, sortedRatios = append(ratios, inOrder/seconds), append(sortedRatios, byLength/seconds)
		ownAlone.keep(took)
		peerAlone.keep(single)
	}
	r.Rate, r.PeerRate, r.PeerSortedRate = words.Median(own), words.Median(batch), words.Median(sorted)
	r.best, r.peerBest, r.peerSortedBest = slices.Max(own), slices.Max(batch), slices.Max(sorted)
	r.Ratio = words.Median(ratios)
	r.RatioOfBest = r.best / r.peerBest
	r.SortedRatio = words.Median(sortedRatios)
	r.SortedRatioBest = r.best / r.peerSortedBest
	r.Alone, r.PeerAlone = 1e3*ownAlone.mean(), 1e3*peerAlone.mean()
	r.AloneMedian, r.PeerAloneMedian = 1e3*words.Median(ownAlone), 1e3*words.Median(peerAlone)
	r.RowsPerRun = formed.rows / formed.runs
	r.Padding = 1 - formed.real/formed.padded
	return r, nil
}

// print prints the figures as a table to standard output.
func (r result) print() {
	fmt.Printf("%s in %s on %s\n", r.Model, r.Precision, r.Provider)
	fmt.Printf("  %d callers          %7.0f questions/s, at best %.0f\n", r.Callers, r.Rate, r.best)
	against := func(name string, rate, best, ratio, ofBest float64) {
		fmt.Printf(
			"  peer, %-13s %7.0f questions/s, at best %.0f; ratio %.2f (median of rounds), %.2f (of the best)\n", name,
			rate, best, ratio, ofBest,
		)
	}
	goal := "0.85"
	if r.Precision == models.PrecisionInt8 {
		goal = "0.70"
	}
	against("batches of 32", r.PeerRate, r.peerBest, r.Ratio, r.RatioOfBest)
	fmt.Printf("  asked for against batches of 32: at least %s\n", goal)
	against("and sorted", r.PeerSortedRate, r.peerSortedBest, r.SortedRatio, r.SortedRatioBest)
	fmt.Printf(
		"  alone               %7.3f ms, peer %.3f ms, over it %+.3f ms, of 0.3 allowed (medians over the rounds' least: %.3f, %.3f)\n",
		r.Alone, r.PeerAlone, r.Alone-r.PeerAlone, r.AloneMedian, r.PeerAloneMedian,
	)
	fmt.Printf("  %.1f rows a run, %.1f %% of the tokens padding\n", r.RowsPerRun, 100*r.Padding)
}

// batches are sums over the encoder's runs for the concurrent callers.
type batches struct{ rows, runs, real, padded float64 }

// add adds what the encoder did between two readings of its counters.
func (b *batches) add(before, after batcher.Stats) {
	b.rows += float64(after.QuestionRows - before.QuestionRows)
	b.runs += float64(after.QuestionRuns - before.QuestionRuns)
	b.real += float64(after.RealTokens - before.RealTokens)
	b.padded += float64(after.PaddedTokens - before.PaddedTokens)
}

// timeTogether returns the seconds in which m.callers concurrent callers get all questions encoded, each asking one
// after the other. It returns one of the errors if a caller fails.
func (m *measurement) timeTogether(ctx context.Context, e *encoder.Encoder) (float64, error) {
	var next atomic.Int64
	var callers sync.WaitGroup
	failures := make(chan error, m.callers)
	begun := time.Now()
	for range m.callers {
		callers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(m.texts)); i = next.Add(1) - 1 {
				if _, err := e.EncodeQuestion(ctx, m.texts[i]); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	callers.Wait()
	seconds := time.Since(begun).Seconds()
	select {
	case err := <-failures:
		return 0, err
	default:
		return seconds, nil
	}
}

// oneByOne returns the seconds of each text encoded when nobody else asks, in order. It stops at the first error.
func oneByOne(ctx context.Context, e *encoder.Encoder, texts []string) ([]float64, error) {
	out := make([]float64, len(texts))
	for i, text := range texts {
		begun := time.Now()
		if _, err := e.EncodeQuestion(ctx, text); err != nil {
			return nil, err
		}
		out[i] = time.Since(begun).Seconds()
	}
	return out, nil
}

// best has the least seconds that were seen for each question.
type best []float64

// newBest returns the best of n questions before any was seen.
func newBest(n int) best { return slices.Repeat(best{1e9}, n) }

// keep replaces the seconds of questions that were faster this time.
func (b best) keep(seconds []float64) {
	for i, s := range seconds {
		b[i] = min(b[i], s)
	}
}

// mean returns the mean of the least seconds over the questions.
func (b best) mean() float64 {
	sum := 0.0
	for _, s := range b {
		sum += s
	}
	return sum / float64(len(b))
}
