package main

import (
	"context"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
	"example.org/conclave/research/pools"
	"example.org/conclave/store/folder"

	"github.com/spf13/cobra"
)

// poolsCommand is what `conclave-lab pools` was asked to do.
type poolsCommand struct {
	questions cli.QuestionFiles
	among     []string
	asJSON    string
}

// newPools returns the command `conclave-lab pools`, which measures how well each source and method ranks the one
// passage that answers a question among some thirty.
func newPools(term cli.Terminal) *cobra.Command {
	var x poolsCommand
	command := &cobra.Command{
		Use:   "pools",
		Short: "Rank one passage that answers among few others, as a paper on granularities does",
		Long: `Ranks for each question thirty passages: one that answers, the first nine of BM25
that do not, and twenty at random. It compares each source alone, and of each set
of granularities the sum of their scores and cce, fitted on other questions; and
the temperature of cce by golden section with the gradient descent of Yang et al.
(2022), as printed and with back-tracking.`,
		Example: `  conclave-lab pools --collection my-index --questions dev.jsonl
  conclave-lab pools --collection all --among base@1,base --questions wiki=wiki/dev.jsonl.gz --json pools.json`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.BindLimit(command, 0)
	flags.StringArrayVar(
		&x.among,
		"among",
		nil,
		"`names` of granularities, or of other experts, among which cce chooses, separated by commas; may be repeated "+
			"(default: the three best granularities)",
	)
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON; '-' for standard output instead of the table")
	return command
}

// run reads the questions and measures on the configured collection, which has to be a folder: passages cannot be drawn
// at random from a store. It returns a usage error for a store.
func (x *poolsCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	domains, err := x.questions.Read()
	if err != nil {
		return err
	}
	if config.Store != "" {
		return cli.Usagef("passages have to be drawn at random, which a store cannot do: name a collection in a folder with --collection")
	}
	c, err := folder.Open(config.Collection)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	config.Encoder.CacheEntries = 0
	return cli.OpenForMeasuring(
		config,
		term,
		true, // it is fitted to its own questions
		func(l *assembly.Assembly) error { return x.measurePools(cmd.Context(), l, g, domains, term) },
	)
}

// measurePools collects scores for all questions and their passages, ranks each pool with every method and writes the
// table, or JSON with --json -. It fails if a set of --among has fewer than two experts or an unknown one. passages are
// those that the pools are drawn from.
func (x *poolsCommand) measurePools(
	ctx context.Context,
	l *assembly.Assembly,
	passages pools.Passages,
	domains []questions.Domain,
	term cli.Terminal,
) error {
	bar := cli.NewProgress(term.Err)
	found, err := pools.Gather(
		ctx, l.Engine, passages, domains, cli.EvaluationTimeout, bar.Counting("asking", "questions"),
	)
	bar.Finish()
	if err != nil {
		return err
	}
	var sets [][]string
	for _, names := range x.among {
		sets = append(sets, strings.Split(names, ","))
	}
	report, err := pools.Measure(ctx, found, sets...)
	if err != nil {
		return err
	}
	if x.asJSON == "-" {
		return cli.EncodeIndented(term.Out, report)
	}
	if err := cli.WriteJSON(x.asJSON, report); err != nil {
		return err
	}
	return report.WriteText(term.Out)
}
