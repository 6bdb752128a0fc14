package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"example.org/conclave/internal/rank"
	"example.org/conclave/research/bench/peer"
	"example.org/conclave/research/bench/words"
)

// result is the result of one comparison: rates are medians of turns, ratios medians of the ratios of consecutive
// turns.
type result struct {
	Passages  int `json:"passages"`
	Questions int `json:"questions"`
	K         int `json:"k"`

	IndexRate     float64 `json:"passages_per_s"`
	PeerIndexRate float64 `json:"lucene_passages_per_s"`
	IndexRatio    float64 `json:"index_ratio"`
	BytesEach     float64 `json:"bytes_per_passage"`
	PeerBytesEach float64 `json:"lucene_bytes_per_passage"`

	Rate      float64 `json:"qps"`
	PeerRate  float64 `json:"lucene_qps"`          // which stops counting matches at k
	PeerRate2 float64 `json:"lucene_counting_qps"` // as IndexSearcher.search(query, k) has it, which counts up to 1000
	Ratio     float64 `json:"ratio"`
	Ratio2    float64 `json:"counting_ratio"`
	Low       float64 `json:"ratio_low"` // of the turns' ratios
	High      float64 `json:"ratio_high"`

	Median     float64 `json:"p50_us"` // of a question, by the clock
	PeerMedian float64 `json:"lucene_p50_us"`
	P99        float64 `json:"p99_us"`
	PeerP99    float64 `json:"lucene_p99_us"`

	WorstScore float64 `json:"worst_score_difference"` // relative, at the same place
	Swapped    int     `json:"places_with_another_passage"`
	Hits       int     `json:"places"`
}

// compare indexes the passages and asks the questions on both sides, which take turns, and returns the figures. Rates
// are by the processor time of the one thread of either side, so that a busy machine does not spoil them; the
// microseconds of single questions are by the clock. It needs a JDK, and Maven the first time. It fails if either
// side does.
func (m *measurement) compare(ctx context.Context) (r result, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	folder, err := os.MkdirTemp("", "conclave-lucene-*")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := m.writeLines(folder); err != nil {
		return r, err
	}
	p, err := startPeer(m.cache, folder, m.k)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.End()) }()
	r.Passages = len(m.passages)
	r.Questions = len(m.questions)
	r.K = m.k

	o := words.Trial{Folder: folder}
	var own, theirs, ratios []float64
	x, report, err := words.Build(ctx, m.passages, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	for range m.builds {
		seconds, err := peer.Ask[float64](p, "index")
		if err != nil {
			return r, err
		}
		begun := words.ThreadTime()
		again, _, err := words.Build(ctx, m.passages, o)
		if err != nil {
			return r, err
		}
		mine := (words.ThreadTime() - begun).Seconds()
		if err := again.Close(); err != nil {
			return r, err
		}
		own, theirs = append(own, float64(r.Passages)/mine), append(theirs, float64(r.Passages)/seconds)
		ratios = append(ratios, seconds/mine)
	}
	r.IndexRate, r.PeerIndexRate, r.IndexRatio = words.Median(own), words.Median(theirs), words.Median(ratios)
	bytes, err := peer.Ask[float64](p, "bytes")
	if err != nil {
		return r, err
	}
	r.BytesEach = report.PassageBytes
	r.PeerBytesEach = bytes / float64(r.Passages)

	var theirs2, ratios2, each, peerEach []float64
	own, theirs, ratios = nil, nil, nil
	for round := range m.rounds + 3 {
		plain, err := peer.Ask[float64](p, "round 1000")
		if err != nil {
			return r, err
		}
		seconds, err := peer.Ask[float64](p, fmt.Sprint("round ", m.k))
		if err != nil {
			return r, err
		}
		begun := words.ThreadTime()
		_, took, err := words.Ask(ctx, x, m.questions, m.k)
		if err != nil {
			return r, err
		}
		mine := (words.ThreadTime() - begun).Seconds()
		if round < 3 {
			continue // the peer's compiler is at work
		}
		n := float64(r.Questions)
		own, theirs, ratios = append(own, n/mine), append(theirs, n/seconds), append(ratios, seconds/mine)
		theirs2, ratios2 = append(theirs2, n/plain), append(ratios2, plain/mine)
		each = append(each, took...)
		more, err := peer.Ask[[]float64](p, fmt.Sprint("each ", m.k))
		if err != nil {
			return r, err
		}
		peerEach = append(peerEach, more...)
	}
	r.Rate, r.PeerRate, r.Ratio = words.Median(own), words.Median(theirs), words.Median(ratios)
	r.PeerRate2, r.Ratio2 = words.Median(theirs2), words.Median(ratios2)
	r.Low = slices.Min(ratios)
	r.High = slices.Max(ratios)
	slices.Sort(each)
	slices.Sort(peerEach)
	r.Median, r.P99 = 1e6*each[len(each)/2], 1e6*each[len(each)*99/100]
	r.PeerMedian, r.PeerP99 = peerEach[len(peerEach)/2], peerEach[len(peerEach)*99/100]

	hits, _, err := words.Ask(ctx, x, m.questions, m.k)
	if err != nil {
		return r, err
	}
	err = m.compareHits(p, hits, &r)
	return r, err
}

// compareHits compares the passages and scores of all rankings with the peer's, and sets the differences in r. It
// fails if the numbers of hits differ.
func (m *measurement) compareHits(p *peer.Process, hits [][]rank.Hit, r *result) error {
	all, err := peer.Ask[[][]float64](p, "hits")
	if err != nil {
		return err
	}
	for i, list := range hits {
		theirs := all[i]
		if len(theirs) != 2*len(list) {
			return fmt.Errorf("question %q has %d hits, of the peer %d", m.questions[i], len(list), len(theirs)/2)
		}
		for j, h := range list {
			r.Hits++
			r.WorstScore = max(r.WorstScore, math.Abs(float64(h.Score)-theirs[2*j+1])/theirs[2*j+1])
			if float64(h.Ordinal) != theirs[2*j] {
				r.Swapped++
			}
		}
	}
	return nil
}

// writeLines writes the files "passages" and "questions" to a folder, a line for each, for the peer. It fails if the
// folder cannot be written.
func (m *measurement) writeLines(folder string) error {
	file, err := os.Create(filepath.Join(folder, "passages"))
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	for _, p := range m.passages {
		_, _ = fmt.Fprintf(out, "%s %s\n", p.Title, p.Text) // Flush reports
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		return err
	}
	file, err = os.Create(filepath.Join(folder, "questions"))
	if err != nil {
		return err
	}
	out = bufio.NewWriter(file)
	for _, q := range m.questions {
		_, _ = fmt.Fprintln(out, q)
	}
	return errors.Join(out.Flush(), file.Close())
}

// String returns the figures of both sides and their ratios as a table for people.
func (r result) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d passages, %d questions, top %d, one thread\n", r.Passages, r.Questions, r.K)
	row := func(name string, own, theirs, ratio float64) {
		fmt.Fprintf(&out, "  %-26s %9.0f %9.0f %7.2f\n", name, own, theirs, ratio)
	}
	fmt.Fprintf(&out, "  %-26s %9s %9s %7s\n", "", "conclave", "Lucene", "ratio")
	row("passages indexed/s", r.IndexRate, r.PeerIndexRate, r.IndexRatio)
	row("bytes of index/passage", r.BytesEach, r.PeerBytesEach, r.BytesEach/r.PeerBytesEach)
	row("questions/s", r.Rate, r.PeerRate, r.Ratio)
	row("  as search(query, k)", r.Rate, r.PeerRate2, r.Ratio2)
	row("µs, median", r.Median, r.PeerMedian, r.PeerMedian/r.Median)
	row("µs, 99 of 100 are below", r.P99, r.PeerP99, r.PeerP99/r.P99)
	fmt.Fprintf(
		&out, "  turns' ratios %.2f to %.2f; scores differ by %.1e at most, %d of %d places hold another passage\n",
		r.Low, r.High, r.WorstScore, r.Swapped, r.Hits,
	)
	return out.String()
}
