package main

import (
	"context"
	"errors"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
	"example.org/conclave/research/bench/searches"

	"github.com/spf13/cobra"
)

// benchSearchCommand is what `conclave-lab bench search` was asked to do.
type benchSearchCommand struct {
	searches.Workload
	questions cli.QuestionFiles
	asked     int
	asJSON    bool
}

// newBenchSearch returns the command `conclave-lab bench search`, which compares the cost of whole searches with the
// cost of only encoding the same questions with the same experts.
func newBenchSearch(term cli.Terminal) *cobra.Command {
	var x benchSearchCommand
	command := &cobra.Command{
		Use:   "search",
		Short: "Measure a search beside the encoders of its experts alone",
		Long: `Asks a collection questions, by one client and then by several, with some of its
experts and BM25. In turns with that, the same experts only encode the same
questions. No vectors are cached between questions.`,
		Example: "  conclave-lab bench search --collection my-index --questions dev.jsonl --counts 1,2,4",
		Args:    cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			costs, err := x.run(cmd.Context(), config, term)
			if err != nil {
				return err
			}
			return cli.Show(term.Out, x.asJSON, costs, func(w *cli.ErrWriter) { w.Err = searches.Print(w.Out, costs) })
		}),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.Bind(command)
	flags.StringVar(&x.Fusion, "fusion", "hybrid", "fusion `method`: hybrid is muf with BM25")
	flags.BoolVar(
		&x.Familiar, "familiar", false,
		"ask the experts most familiar with each question, beside those without a domain, as auto does (fusion gate)",
	)
	flags.IntVar(&x.Clients, "clients", 32, "clients at once, for the rates")
	flags.IntVar(&x.Rounds, "rounds", 5, "turns of each side, of which the median is printed")
	flags.IntVar(&x.asked, "asked", 100, "questions of each turn")
	flags.IntSliceVar(
		&x.Counts, "counts", nil,
		"how many experts to ask, one measurement for each number (default: all that have a confidence)",
	)
	flags.BoolVar(&x.asJSON, "json", false, "print JSON")
	return command
}

// run measures searches of the configured collection with each number of experts in --counts, and returns their costs.
// It returns a usage error if a flag is invalid, and fails if questions cannot be read or the collection cannot be
// opened. No vectors are cached, whatever config says.
func (x *benchSearchCommand) run(
	ctx context.Context,
	config configs.Config,
	term cli.Terminal,
) (costs []searches.Cost, err error) {
	if x.Clients < 1 || x.Rounds < 1 || x.asked < 1 {
		return nil, cli.Usagef("--clients, --rounds and --asked are at least 1")
	}
	x.questions.Limit = x.asked
	domains, err := x.questions.Read()
	if err != nil {
		return nil, err
	}
	texts := questions.InTurns(domains, x.asked)
	config.Limits.Timeout = max(config.Limits.Timeout, searches.Timeout)
	config.Encoder.CacheEntries = 0 // every question is to be encoded
	bar := cli.NewProgress(term.Err)
	defer bar.Finish()
	err = cli.OpenCollection(config, term, false, func(l *assembly.Assembly) (err error) {
		costs, err = x.Measure(ctx, l, texts, bar.Counting("measuring", "sets of experts"))
		return err
	})
	if bad := (searches.CountError{}); errors.As(err, &bad) {
		return nil, cli.Usagef("--counts: %w", bad)
	}
	return costs, err
}
