package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conclave/encoder"
	"conclave/encoder/batcher"
	"conclave/models"
)

type measurement struct {
	texts   []string
	python  string
	callers int
	threads int
	rounds  int
	limit   int
}

// compare lets the two sides take turns and prints the figures.
func (m *measurement) compare(ctx context.Context, e *encoder.Encoder, p *peer, precision string) error {
	n := float64(len(m.texts))
	alone := m.texts[:min(200, len(m.texts))]
	var formed batches
	var own, batch, sorted, ratios, sortedRatios []float64
	ownAlone, peerAlone := newBest(len(alone)), newBest(len(alone))
	for round := range m.rounds + 1 {
		inOrder, err := p.seconds("batch")
		if err != nil {
			return err
		}
		before := e.Stats()
		seconds, err := m.together(ctx, e)
		if err != nil {
			return err
		}
		formed.add(before, e.Stats())
		byLength, err := p.seconds("sorted")
		if err != nil {
			return err
		}
		single, err := p.single()
		if err != nil {
			return err
		}
		took, err := oneByOne(ctx, e, alone)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // warm-up
		}
		own, batch, sorted = append(own, n/seconds), append(batch, n/inOrder), append(sorted, n/byLength)
		ratios, sortedRatios = append(ratios, inOrder/seconds), append(sortedRatios, byLength/seconds)
		ownAlone.keep(took)
		peerAlone.keep(single)
	}
	fmt.Printf("%s in %s on %s\n", e.Name(), precision, e.Provider())
	fmt.Printf("  %d callers          %7.0f questions/s, at best %.0f\n", m.callers, median(own), slices.Max(own))
	against := func(name string, rates, ratios []float64) {
		fmt.Printf("  peer, %-13s %7.0f questions/s, at best %.0f; ratio %.2f (median of rounds), %.2f (of the best)\n",
			name, median(rates), slices.Max(rates), median(ratios), slices.Max(own)/slices.Max(rates))
	}
	goal := "0.85"
	if precision == models.PrecisionInt8 {
		goal = "0.70"
	}
	against("batches of 32", batch, ratios)
	fmt.Printf("  asked for against batches of 32: at least %s\n", goal)
	against("and sorted", sorted, sortedRatios)
	// The least time of each question over the rounds: what it costs when
	// nothing else uses the machine.
	fmt.Printf("  alone               %7.3f ms, peer %.3f ms, over it %+.3f ms, of 0.3 allowed (medians over the rounds' least: %.3f, %.3f)\n",
		1e3*ownAlone.mean(), 1e3*peerAlone.mean(), 1e3*(ownAlone.mean()-peerAlone.mean()), 1e3*median(ownAlone), 1e3*median(peerAlone))
	fmt.Printf("  %.1f rows a run, %.1f %% of the tokens padding\n", formed.rows/formed.runs, 100-100*formed.real/formed.padded)
	return nil
}

// batches sums up the runs of the concurrent callers.
type batches struct{ rows, runs, real, padded float64 }

func (b *batches) add(before, after batcher.Stats) {
	b.rows += float64(after.QuestionRows - before.QuestionRows)
	b.runs += float64(after.QuestionRuns - before.QuestionRuns)
	b.real += float64(after.RealTokens - before.RealTokens)
	b.padded += float64(after.PaddedTokens - before.PaddedTokens)
}

// together is the seconds in which the callers get all questions answered,
// each asking one after the other.
func (m *measurement) together(ctx context.Context, e *encoder.Encoder) (float64, error) {
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

// oneByOne is the seconds of each question asked when nobody else asks.
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

// best is the least seconds seen for each question.
type best []float64

func newBest(n int) best { return slices.Repeat(best{1e9}, n) }

func (b best) keep(seconds []float64) {
	for i, s := range seconds {
		b[i] = min(b[i], s)
	}
}

func (b best) mean() float64 {
	sum := 0.0
	for _, s := range b {
		sum += s
	}
	return sum / float64(len(b))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
