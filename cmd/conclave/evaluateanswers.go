package main

import (
	"errors"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/evaluation"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/search"

	"github.com/spf13/cobra"
)

// evaluateAnswersCommand is what `conclave evaluate answers` was asked to do.
type evaluateAnswersCommand struct {
	questions cli.QuestionFiles
	measured  evaluation.AnswerOptions
	asJSON    string
}

// newEvaluateAnswers returns the command `conclave evaluate answers`, which measures the words that a reader marks.
func newEvaluateAnswers(term cli.Terminal) *cobra.Command {
	var x evaluateAnswersCommand
	command := &cobra.Command{
		Use:   "answers",
		Short: "Measure the words that a reader marks, by exact match and F1",
		Long: `Asks a collection the questions of all files, lets a reader mark the words that
answer in the first passages, and compares them with the answers as SQuAD's script
does: exact match and F1, by domain. It reads auto's passages, BM25's and, as upper
bounds, a passage that answers and the best of auto's passages.`,
		Example: `  conclave evaluate answers --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz`,
		Args:    cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "store", "bundles", "encoder.provider")
	x.questions.BindLimit(command, 0)
	flags.StringVar(&x.measured.Reader, "reader", "", "`name` of the reader (default: the first)")
	flags.IntVar(&x.measured.Passages, "passages", 5, "how many passages of a ranking it reads")
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON")
	return command
}

// run reads the questions, has the collection's reader answer them and writes the report. It returns a usage error
// before that for a number of passages that no request may have, and fails if the collection has no reader.
func (x *evaluateAnswersCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	if x.measured.Passages < 1 || x.measured.Passages > search.MostRead {
		return cli.Usagef("--passages is from 1 to %d", search.MostRead)
	}
	domains, err := x.questions.Read()
	if err != nil {
		return err
	}
	return cli.OpenForMeasuring(config, term, false, func(l *assembly.Assembly) error {
		g, done := l.Passages(cmd.Context())
		defer done()
		bar := cli.NewProgress(term.Err)
		x.measured.Progress = bar.Counting("reading", "questions")
		x.measured.Timeout = cli.EvaluationTimeout
		found, err := evaluation.Answers(cmd.Context(), l.Engine, g, domains, x.measured)
		bar.Finish()
		if err != nil {
			return err
		}
		return errors.Join(found.WriteText(term.Out), cli.WriteJSON(x.asJSON, found))
	})
}
