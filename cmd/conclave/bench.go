package main

import (
	"math"

	"example.org/conclave/internal/questions"
	"example.org/conclave/research/bench/words"

	"github.com/spf13/cobra"
)

func newBench(term terminal) *cobra.Command {
	return group("bench", "Measure searching on your own data", newBenchVectors(term), newBenchWords(term), newBenchSearch(term))
}

func newBenchWords(term terminal) *cobra.Command {
	var in inputs
	var asked questionFiles
	var o words.Trial
	var asJSON bool
	command := &cobra.Command{
		Use:     "bm25",
		Short:   "Measure BM25 on passages and questions: one thread, one question at a time",
		Example: "  conclave bench bm25 --in passages.jsonl.gz --questions dev.jsonl.gz --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := in.check(); err != nil {
				return err
			}
			if len(in.files) == 0 {
				return usagef("--in is needed")
			}
			for i := range in.files {
				in.files[i].Stdin = term.In
			}
			passages, err := words.ReadPassages(in.files)
			if err != nil {
				return err
			}
			domains, err := asked.read()
			if err != nil {
				return err
			}
			r, err := words.Measure(cmd.Context(), passages, questions.InTurns(domains, math.MaxInt), o)
			if err != nil {
				return err
			}
			return show(term.Out, asJSON, r, func(w *errWriter) { w.err = r.Print(w.out) })
		},
	}
	flags := command.Flags()
	in.bind(flags)
	asked.bind(command)
	flags.IntVar(&o.K, "k", 100, "hits per question")
	flags.IntVar(&o.Rounds, "rounds", 5, "how often all questions are asked")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
