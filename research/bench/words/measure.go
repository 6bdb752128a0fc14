// Package words measures the word index on anybody's passages and questions:
// how fast passages are indexed, how large the index is, and how many
// questions a second one thread answers.
package words

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// Trial is what is measured.
type Trial struct {
	K      int    // hits per question
	Rounds int    // how often all questions are asked after a first round that is not counted
	Folder string // where the index is written and removed again; "" is the system's folder for temporary files
}

// Figures are the results of a measurement. Times of searching are of one thread that asks one question after the
// other, analysis included.
type Figures struct {
	Passages     int     `json:"passages"`
	Terms        int     `json:"terms"`      // in all passages
	Vocabulary   int     `json:"vocabulary"` // distinct ones
	BuildSeconds float64 `json:"build_s"`    // from text in memory to a synced file, one thread
	PassageRate  float64 `json:"passages_per_s"`
	Bytes        int64   `json:"bytes"` // the file
	PassageBytes float64 `json:"bytes_per_passage"`

	Questions int     `json:"questions"`
	K         int     `json:"k"`
	Rate      float64 `json:"qps"` // of the fastest round
	Median    float64 `json:"p50_us"`
	P95       float64 `json:"p95_us"`
	P99       float64 `json:"p99_us"` // microseconds, over all rounds
}

// Measure indexes passages and asks questions, and returns the figures; the first round of questions does not count.
// It fails without passages or questions, and if ctx ends.
func Measure(ctx context.Context, passages []corpus.Passage, questions []string, o Trial) (Figures, error) {
	if len(passages) == 0 || len(questions) == 0 {
		return Figures{}, fmt.Errorf(
			"there are %d passages and %d questions: at least one of each is needed", len(passages), len(questions),
		)
	}
	x, r, err := Build(ctx, passages, o)
	if err != nil {
		return r, err
	}
	defer func() { _ = x.Close() }()
	r.K = o.K
	r.Questions = len(questions)
	var all []float64
	for round := range o.Rounds + 1 {
		begun := time.Now()
		_, each, err := Ask(ctx, x, questions, r.K)
		if err != nil {
			return r, err
		}
		if round == 0 {
			continue // the first touches what is not in memory yet
		}
		r.Rate = max(r.Rate, float64(len(questions))/time.Since(begun).Seconds())
		all = append(all, each...)
	}
	slices.Sort(all)
	at := func(part float64) float64 { return 1e6 * all[min(len(all)-1, int(part*float64(len(all))))] }
	r.Median, r.P95, r.P99 = at(0.5), at(0.95), at(0.99)
	return r, nil
}

// Build indexes passages into a file, which is unlinked as soon as it is open, and returns the index with the figures
// of building. The caller closes the index. It fails if o.Folder cannot be written or ctx ends.
func Build(ctx context.Context, passages []corpus.Passage, o Trial) (x *bm25.Index, r Figures, err error) {
	folder, err := os.MkdirTemp(o.Folder, "conclave-bench-*")
	if err != nil {
		return nil, r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "words")
	begun := time.Now()
	builder := bm25.NewBuilder(bm25.DefaultParams())
	for i, p := range passages {
		if i%1000 == 0 && ctx.Err() != nil {
			builder.Discard()
			return nil, r, context.Cause(ctx)
		}
		if err := builder.Add(p.Title, p.Text); err != nil {
			return nil, r, fmt.Errorf("indexing passage %q: %w", p.ID, err)
		}
	}
	if err := builder.Write(disk.OS{}, path); err != nil {
		return nil, r, err
	}
	r.BuildSeconds = time.Since(begun).Seconds()
	x, err = bm25.Open(disk.OS{}, path)
	if err != nil {
		return nil, r, err
	}
	r.Passages = x.Docs()
	r.Terms = x.Terms()
	r.Vocabulary = x.Vocabulary()
	r.Bytes = x.Size()
	r.PassageRate = float64(r.Passages) / r.BuildSeconds
	r.PassageBytes = float64(r.Bytes) / float64(r.Passages)
	return x, r, nil
}

// Ask asks every question once, for k hits, and returns their hits and the seconds of each, in order. It stops at the
// first error.
func Ask(
	ctx context.Context,
	x *bm25.Index,
	questions []string,
	k int,
) (hits [][]rank.Hit, seconds []float64, err error) {
	hits, seconds = make([][]rank.Hit, len(questions)), make([]float64, len(questions))
	s, err := bm25.NewSearcher(bm25.Segment{Index: x})
	if err != nil {
		return nil, nil, err
	}
	for i, q := range questions {
		begun := time.Now()
		hits[i], err = s.Search(ctx, q, k, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("searching for %q: %w", q, err)
		}
		seconds[i] = time.Since(begun).Seconds()
	}
	return hits, seconds, nil
}

// Print writes a report for people. It returns the error of out.
func (r Figures) Print(out io.Writer) error {
	_, err := fmt.Fprintf(out, `%d passages, %d terms, %d distinct
indexed in %.2f s: %.0f passages/s, %.0f bytes a passage
%d questions, top %d, one thread: %.0f questions/s, median %.0f µs, 95 %% %.0f µs, 99 %% %.0f µs
`, r.Passages, r.Terms, r.Vocabulary, r.BuildSeconds, r.PassageRate, r.PassageBytes,
		r.Questions, r.K, r.Rate, r.Median, r.P95, r.P99)
	return err
}

// Median returns the median of values, of an even number the upper one of both in the middle; NaN if there are none.
// values stay as they are.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[len(sorted)/2]
}
