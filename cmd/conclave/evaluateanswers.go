package main

import (
	"errors"

	"conclave/configs"
	"conclave/evaluation"
	"conclave/search"

	"github.com/spf13/cobra"
)

// evaluatingAnswers is what `conclave evaluate answers` was asked to do.
type evaluatingAnswers struct {
	questions questionFiles
	measured  evaluation.AnswerOptions
	asJSON    string
}

func newEvaluateAnswers(term terminal) *cobra.Command {
	var x evaluatingAnswers
	command := &cobra.Command{
		Use:   "answers",
		Short: "Measure the words that a reader marks, by exact match and F1",
		Long: `Asks a collection the questions of all files, lets a reader mark the words that
answer in the first passages, and compares them with the answers as SQuAD's script
does: exact match and F1, by domain. Beside auto's passages stand BM25's, and two
that know the answer: a passage that answers, and the best of auto's passages.`,
		Example: `  conclave evaluate answers --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz`,
		Args:    cobra.NoArgs,
		RunE:    configured(term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) }),
	}
	flags := command.Flags()
	addConfigFlags(flags, "collection", "store", "bundles", "encoder.provider")
	x.questions.bindLimit(command, 0)
	flags.StringVar(&x.measured.Reader, "reader", "", "`name` of the reader (default: the first)")
	flags.IntVar(&x.measured.Passages, "passages", 5, "how many passages of a ranking it reads")
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON")
	return command
}

func (x *evaluatingAnswers) run(cmd *cobra.Command, config configs.Config, term terminal) (err error) {
	if x.measured.Passages < 1 || x.measured.Passages > search.MostRead {
		return usagef("--passages is from 1 to %d", search.MostRead)
	}
	domains, err := x.questions.read()
	if err != nil {
		return err
	}
	l, err := openMeasured(config, term, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	g, done := l.Passages(cmd.Context())
	defer done()
	bar := newProgress(term.Err)
	x.measured.Timeout = evaluationTimeout
	x.measured.Progress = func(done, total int) { bar.Report("reading", int64(done), int64(total), "questions") }
	found, err := evaluation.Answers(cmd.Context(), l.Engine, g, domains, x.measured)
	bar.Finish()
	if err != nil {
		return err
	}
	return errors.Join(found.WriteText(term.Out), writeJSON(x.asJSON, found))
}
