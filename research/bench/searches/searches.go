// Package searches measures what a search costs beside its experts' encoders
// alone.
package searches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/experts"
	"example.org/conclave/search"
)

// Workload is what is measured.
type Workload struct {
	Fusion string // method of fusion
	// Familiar lets each question ask the experts that are the most familiar with
	// it, beside those without a domain, under the gate.
	Familiar bool
	Clients  int // at once, for the rates
	Rounds   int // turns of each side; the median counts
	// Counts are how many of the able experts are asked, one measurement for each; nil: all.
	Counts []int
}

// Timeout is what a search is given, and the least that a collection's limits have
// to allow.
const Timeout = 30 * time.Second

// Cost is the cost of a search, compared with that of its experts' encoder passes alone.
type Cost struct {
	Experts int `json:"experts"`
	// P50MS is the median time of a search by one client, EncodersMS that of the
	// same experts' encoder passes alone, EnsembleMS that of one pass of one
	// expert's ensemble, OneEncoderMS that of one encoder pass with nothing
	// beside it.
	P50MS        float64 `json:"p50_ms"`
	EncodersMS   float64 `json:"encoders_p50_ms"`
	OneEncoderMS float64 `json:"one_encoder_p50_ms"`
	EnsembleMS   float64 `json:"ensemble_p50_ms"`
	// QPS is the searches a second of several clients, EncodersQPS the questions
	// that the encoders alone take from as many.
	QPS         float64 `json:"qps"`
	EncodersQPS float64 `json:"encoders_qps"`
}

// ableExperts returns the dense experts from which a method chooses for each question (able), and those that are asked
// for every question (always). If Familiar is set, able are the experts with representatives, which say how familiar
// they are with a question, and always are the others. Otherwise able are the experts with an ensemble; the others are
// in neither list, and always is nil.
func (o *Workload) ableExperts(l *assembly.Assembly) (able, always []*experts.Expert) {
	for _, e := range l.Experts.Dense() {
		vectors := e.Bundle.Manifest.Vectors
		switch {
		case o.Familiar && (vectors == nil || vectors.Representatives == ""):
			always = append(always, e)
		case o.Familiar || e.Encoder.Ensemble() != nil:
			able = append(able, e)
		}
	}
	return able, always
}

// CountError is the error of a number of experts that a collection does not have.
type CountError struct{ Count, Able int }

// Error says which count was asked for, and how many experts the collection has.
func (e CountError) Error() string {
	return fmt.Sprintf("%d; this collection has %d such experts", e.Count, e.Able)
}

// Measure measures the searches for texts in a collection whose encoders cache nothing, for each of Counts. progress
// is called with the number of Counts that are done. It returns a CountError for a count that is not from 1 to the
// number of able experts, and stops at the first error.
func (o *Workload) Measure(
	ctx context.Context,
	l *assembly.Assembly,
	texts []string,
	progress func(done, total int),
) (costs []Cost, err error) {
	able, always := o.ableExperts(l)
	counts := o.Counts
	if counts == nil {
		counts = []int{len(able)}
	}
	for i, n := range counts {
		if n < 1 || n > len(able) {
			return nil, CountError{n, len(able)}
		}
		progress(i, len(counts))
		c, err := o.measure(ctx, l, slices.Concat(always, able[:n]), n, texts)
		if err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	progress(len(counts), len(counts))
	return costs, nil
}

// Print writes a table of costs, one line for each number of experts. It returns the error of out.
func Print(out io.Writer, costs []Cost) error {
	_, err := fmt.Fprintf(
		out, "%7s | %10s %12s %6s | %12s %10s %6s | %10s %12s %6s\n", "experts", "search ms", "encoders ms", "ratio",
		"one pass ms", "ensemble", "share", "searches/s", "encoders/s", "ratio",
	)
	for _, c := range costs {
		if err != nil {
			break
		}
		_, err = fmt.Fprintf(
			out, "%7d | %10.2f %12.2f %6.2f | %12.2f %10.3f %6.2f | %10.1f %12.1f %6.2f\n", c.Experts, c.P50MS,
			c.EncodersMS, c.P50MS/c.EncodersMS, c.OneEncoderMS, c.EnsembleMS, c.EnsembleMS/c.OneEncoderMS, c.QPS,
			c.EncodersQPS, c.QPS/c.EncodersQPS,
		)
	}
	return err
}

// measure returns the cost of searches by these experts and of their encoder passes, which take turns, o.Rounds each.
// With Familiar, a search chooses this number of specialists itself, and as many encoders run. It fails if a search
// or an encoder does.
func (o *Workload) measure(
	ctx context.Context,
	l *assembly.Assembly,
	experts []*experts.Expert,
	specialists int,
	texts []string,
) (Cost, error) {
	request := search.Request{
		TimeoutMS: int(Timeout / time.Millisecond),
		Fusion:    search.Methods{Names: []string{o.Fusion}},
	}
	if o.Familiar {
		request.Fusion.Names[0] = fusion.MethodGate
		request.Specialists = specialists
	} else {
		names := make([]string, len(experts))
		for i, e := range experts {
			names[i] = e.Name()
		}
		request.Experts = &names
	}
	ask := func(text string) error {
		r := request
		r.Question = text
		_, err := l.Engine.Search(ctx, search.Caller{}, r)
		return err
	}
	encode := func(text string) error { return encodeAll(ctx, experts, text) }
	one := func(text string) error { return encodeAll(ctx, experts[:1], text) }
	last := experts[len(experts)-1]
	vector, err := last.Encoder.EncodeQuestion(ctx, texts[0])
	if err != nil {
		return Cost{}, err
	}
	ensemble := func(string) error {
		if e := last.Encoder.Ensemble(); e != nil {
			_, err := e.Members(ctx, vector)
			return err
		}
		return nil
	}

	c := Cost{Experts: len(experts)}
	kinds := []struct {
		do      func(string) error
		clients int
		into    *float64
		rate    bool
		seen    []float64
	}{
		{
			ask,
			1,
			&c.P50MS,
			false,
			nil,
		}, {encode, 1, &c.EncodersMS, false, nil}, {one, 1, &c.OneEncoderMS, false, nil}, {ensemble, 1, &c.EnsembleMS,
			false, nil},
		{ask, o.Clients, &c.QPS, true, nil}, {encode, o.Clients, &c.EncodersQPS, true, nil},
	}
	for round := range o.Rounds + 1 {
		for i := range kinds {
			k := &kinds[i]
			times, took, err := byClients(k.clients, texts, k.do)
			if err != nil {
				return c, err
			}
			if round == 0 {
				continue // everything warms up
			}
			if k.rate {
				k.seen = append(k.seen, float64(len(texts))/took.Seconds())
			} else {
				k.seen = append(k.seen, times[len(times)/2].Seconds()*1000)
			}
		}
	}
	for i := range kinds {
		slices.Sort(kinds[i].seen)
		*kinds[i].into = kinds[i].seen[len(kinds[i].seen)/2]
	}
	return c, nil
}

// encodeAll encodes a text by all experts at the same time, as a search does, and returns the errors joined.
func encodeAll(ctx context.Context, experts []*experts.Expert, text string) error {
	errs := make([]error, len(experts))
	var group sync.WaitGroup
	for i, e := range experts {
		group.Go(func() { _, errs[i] = e.Encoder.EncodeQuestion(ctx, text) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// byClients calls do for every text, by this number of clients at the same time. It returns the times of the calls in
// ascending order, and how long all took. A client stops at its first error; the errors are returned joined.
func byClients(
	clients int,
	texts []string,
	do func(string) error,
) (times []time.Duration, took time.Duration, err error) {
	times = make([]time.Duration, len(texts))
	errs := make([]error, clients)
	var next atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for c := range clients {
		group.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(texts)) {
					return
				}
				started := time.Now()
				errs[c] = do(texts[i])
				if errs[c] != nil {
					errs[c] = fmt.Errorf("question %q: %w", texts[i], errs[c])
					return
				}
				times[i] = time.Since(started)
			}
		})
	}
	group.Wait()
	took = time.Since(begun)
	slices.Sort(times)
	return times, took, errors.Join(errs...)
}
