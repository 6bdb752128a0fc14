package main

import (
	"context"
	"errors"

	"example.org/conclave/configs"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/server"
	"example.org/conclave/research/bench/searches"

	"github.com/spf13/cobra"
)

// benchingSearch is what `conclave bench search` was asked to do.
type benchingSearch struct {
	searches.Workload
	questions questionFiles
	asked     int
	asJSON    bool
}

func newBenchSearch(term terminal) *cobra.Command {
	var x benchingSearch
	command := &cobra.Command{
		Use:   "search",
		Short: "Measure a search beside the encoders of its experts alone",
		Long: `Asks a collection questions, by one client and then by several, with some of its
experts and BM25. In turns with that, the same experts only encode the same
questions. No vectors are cached between questions.`,
		Example: "  conclave bench search --collection my-index --questions dev.jsonl --counts 1,2,4",
		Args:    cobra.NoArgs,
		RunE: configured(term, func(cmd *cobra.Command, config configs.Config) error {
			costs, err := x.run(cmd.Context(), config, term)
			if err != nil {
				return err
			}
			return show(term.Out, x.asJSON, costs, func(w *errWriter) { w.err = searches.Print(w.out, costs) })
		}),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.bind(command)
	flags.StringVar(&x.Fusion, "fusion", "hybrid", "fusion `method`: hybrid is muf with BM25")
	flags.BoolVar(&x.Familiar, "familiar", false, "ask the experts most familiar with each question, beside those without a domain, as auto does (fusion gate)")
	flags.IntVar(&x.Clients, "clients", 32, "clients at once, for the rates")
	flags.IntVar(&x.Rounds, "rounds", 5, "turns of each side, of which the median is printed")
	flags.IntVar(&x.asked, "asked", 100, "questions of each turn")
	flags.IntSliceVar(&x.Counts, "counts", nil, "how many experts to ask, one measurement for each number (default: all that have a confidence)")
	flags.BoolVar(&x.asJSON, "json", false, "print JSON")
	return command
}

func (x *benchingSearch) run(ctx context.Context, config configs.Config, term terminal) (costs []searches.Cost, err error) {
	if x.Clients < 1 || x.Rounds < 1 || x.asked < 1 {
		return nil, usagef("--clients, --rounds and --asked are at least 1")
	}
	x.questions.limit = x.asked
	domains, err := x.questions.read()
	if err != nil {
		return nil, err
	}
	texts := questions.InTurns(domains, x.asked)
	config.Limits.Timeout = max(config.Limits.Timeout, searches.Timeout)
	config.Encoder.CacheEntries = 0 // every question is to be encoded
	bar := newProgress(term.Err)
	defer bar.Finish()
	err = opened(config, term, false, func(l *server.Assembly) (err error) {
		costs, err = x.Measure(ctx, l, texts, bar.counting("measuring", "sets of experts"))
		return err
	})
	if bad := (searches.CountError{}); errors.As(err, &bad) {
		return nil, usagef("--counts: %w", bad)
	}
	return costs, err
}
