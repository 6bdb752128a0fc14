package main

import (
	"math"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/questions"
	"example.org/conclave/research/bench/words"

	"github.com/spf13/cobra"
)

// newBench returns the command `conclave-lab bench`, which has only subcommands.
func newBench(term cli.Terminal) *cobra.Command {
	return cli.Group(
		"bench", "Measure searching on your own data", newBenchVectors(term), newBenchWords(term), newBenchSearch(term),
	)
}

// newBenchWords returns the command `conclave-lab bench bm25`, which measures the time of word search.
func newBenchWords(term cli.Terminal) *cobra.Command {
	var in cli.Inputs
	var asked cli.QuestionFiles
	var o words.Trial
	var asJSON bool
	command := &cobra.Command{
		Use:     "bm25",
		Short:   "Measure BM25 on passages and questions: one thread, one question at a time",
		Example: "  conclave-lab bench bm25 --in passages.jsonl.gz --questions dev.jsonl.gz --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := in.Check(); err != nil {
				return err
			}
			if len(in.Files) == 0 {
				return cli.Usagef("--in is needed")
			}
			for i := range in.Files {
				in.Files[i].Stdin = term.In
			}
			passages, err := words.ReadPassages(in.Files)
			if err != nil {
				return err
			}
			domains, err := asked.Read()
			if err != nil {
				return err
			}
			r, err := words.Measure(cmd.Context(), passages, questions.InTurns(domains, math.MaxInt), o)
			if err != nil {
				return err
			}
			return cli.Show(term.Out, asJSON, r, func(w *cli.ErrWriter) { w.Err = r.Print(w.Out) })
		},
	}
	flags := command.Flags()
	in.Bind(flags)
	asked.Bind(command)
	flags.IntVar(&o.K, "k", 100, "hits per question")
	flags.IntVar(&o.Rounds, "rounds", 5, "how often all questions are asked")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
