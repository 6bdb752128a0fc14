package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"conclave/configs"
	"conclave/fusion"
	"conclave/questions"
	"conclave/search"
	"conclave/serving"

	"github.com/spf13/cobra"
)

// benchingSearch is what `conclave bench search` was asked to do.
type benchingSearch struct {
	questions questionFiles
	fusion    string
	familiar  bool
	clients   int
	rounds    int
	asked     int
	counts    []int
	asJSON    bool
}

// searchCost is what a search costs beside its experts' encoder passes alone.
type searchCost struct {
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

func newBenchSearch(term terminal) *cobra.Command {
	var x benchingSearch
	command := &cobra.Command{
		Use:   "search",
		Short: "Measure what a search costs beside its experts' encoders alone",
		Long: `Asks questions of a collection, first by one client, then by several, with some
of its experts and BM25, and lets the same experts only encode the same
questions, in turns. Nothing is kept between questions.`,
		Example: "  conclave bench search --collection my-index --questions dev.jsonl --counts 1,2,4",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			costs, err := x.run(cmd.Context(), config, term)
			if err != nil {
				return err
			}
			if x.asJSON {
				return json.NewEncoder(term.Out).Encode(costs)
			}
			w := &errWriter{out: term.Out}
			w.printf("%7s | %10s %12s %6s | %12s %10s %6s | %10s %12s %6s\n", "experts", "search ms", "encoders ms", "ratio",
				"one pass ms", "ensemble", "share", "searches/s", "encoders/s", "ratio")
			for _, c := range costs {
				w.printf("%7d | %10.2f %12.2f %6.2f | %12.2f %10.3f %6.2f | %10.1f %12.1f %6.2f\n", c.Experts, c.P50MS, c.EncodersMS, c.P50MS/c.EncodersMS,
					c.OneEncoderMS, c.EnsembleMS, c.EnsembleMS/c.OneEncoderMS, c.QPS, c.EncodersQPS, c.QPS/c.EncodersQPS)
			}
			return w.err
		},
	}
	flags := command.Flags()
	addConfigFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.bind(flags)
	flags.StringVar(&x.fusion, "fusion", fusion.MethodHybrid, "fusion `method`: hybrid is muf with BM25")
	flags.BoolVar(&x.familiar, "familiar", false, "let each question ask the experts that are the most familiar with it, beside those without a domain, as auto does: fusion gate")
	flags.IntVar(&x.clients, "clients", 32, "clients at once, for the rates")
	flags.IntVar(&x.rounds, "rounds", 5, "turns of each side; the median counts")
	flags.IntVar(&x.asked, "asked", 100, "questions of each turn")
	flags.IntSliceVar(&x.counts, "counts", nil, "how many experts to ask, each in turn (default: all that can say how sure they are)")
	flags.BoolVar(&x.asJSON, "json", false, "for programs")
	_ = command.MarkFlagRequired("questions")
	return command
}

func (x *benchingSearch) run(ctx context.Context, config configs.Config, term terminal) (costs []searchCost, err error) {
	if x.clients < 1 || x.rounds < 1 || x.asked < 1 {
		return nil, usagef("--clients, --rounds and --asked are at least 1")
	}
	domains, err := x.questions.read(x.asked)
	if err != nil {
		return nil, err
	}
	texts := spread(domains, x.asked)
	config.Limits.Timeout = max(config.Limits.Timeout, evaluationTimeout)
	config.Encoder.CacheEntries = 0 // every question is to be encoded
	l, err := serving.Assemble(serving.Options{Config: config, Log: newSaying(term.Err, config.Log), Observer: complaining{term.Err}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var able, always []*serving.Expert
	for _, e := range l.Experts.Dense() {
		switch {
		case x.familiar && e.Bundle.Manifest.Representatives == "":
			always = append(always, e)
		case x.familiar || e.Encoder.Ensemble() != nil:
			able = append(able, e)
		}
	}
	if x.counts == nil {
		x.counts = []int{len(able)}
	}
	bar := newProgress(term.Err)
	defer bar.Finish()
	for i, n := range x.counts {
		if n < 1 || n > len(able) {
			return nil, usagef("--counts: %d; this collection has %d such experts", n, len(able))
		}
		bar.Report("measuring", int64(i), int64(len(x.counts)), "sets of experts")
		c, err := x.measure(ctx, l, append(slices.Clone(always), able[:n]...), n, texts)
		if err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	bar.Report("measuring", int64(len(x.counts)), int64(len(x.counts)), "sets of experts")
	return costs, nil
}

// spread takes questions of all domains in turns.
func spread(domains []questions.Domain, most int) []string {
	var texts []string
	for i := 0; len(texts) < most; i++ {
		before := len(texts)
		for _, d := range domains {
			if i < len(d.Questions) && len(texts) < most {
				texts = append(texts, d.Questions[i].Text)
			}
		}
		if len(texts) == before {
			break
		}
	}
	return texts
}

// measure lets searches and encoders take turns. With --familiar a search
// chooses so many specialists itself, and the encoders are as many.
func (x *benchingSearch) measure(ctx context.Context, l *serving.Assembly, experts []*serving.Expert, specialists int, texts []string) (searchCost, error) {
	request := search.Request{TimeoutMS: int(evaluationTimeout / time.Millisecond), Fusion: search.Methods{Names: []string{x.fusion}}}
	if x.familiar {
		request.Fusion.Names[0], request.Specialists = fusion.MethodGate, specialists
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
		_, err := l.Engine.Search(ctx, r)
		return err
	}
	encode := func(text string) error { return encodeAll(ctx, experts, text) }
	one := func(text string) error { return encodeAll(ctx, experts[:1], text) }
	last := experts[len(experts)-1]
	vector, err := last.Encoder.EncodeQuestion(ctx, texts[0])
	if err != nil {
		return searchCost{}, err
	}
	ensemble := func(string) error {
		if e := last.Encoder.Ensemble(); e != nil {
			_, err := e.Members(ctx, vector)
			return err
		}
		return nil
	}

	c := searchCost{Experts: len(experts)}
	kinds := []struct {
		do      func(string) error
		clients int
		into    *float64
		rate    bool
		seen    []float64
	}{
		{ask, 1, &c.P50MS, false, nil}, {encode, 1, &c.EncodersMS, false, nil}, {one, 1, &c.OneEncoderMS, false, nil}, {ensemble, 1, &c.EnsembleMS, false, nil},
		{ask, x.clients, &c.QPS, true, nil}, {encode, x.clients, &c.EncodersQPS, true, nil},
	}
	for round := range x.rounds + 1 {
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

// encodeAll encodes a question by all experts at once, as a search does.
func encodeAll(ctx context.Context, experts []*serving.Expert, text string) error {
	errs := make([]error, len(experts))
	var group sync.WaitGroup
	for i, e := range experts {
		group.Go(func() { _, errs[i] = e.Encoder.EncodeQuestion(ctx, text) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// byClients does something for every text, by so many clients at once, and
// returns the times in ascending order and how long all took.
func byClients(clients int, texts []string, do func(string) error) (times []time.Duration, took time.Duration, err error) {
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
				if errs[c] = do(texts[i]); errs[c] != nil {
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
