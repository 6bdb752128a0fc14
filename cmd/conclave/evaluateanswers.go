package main

import (
	"errors"
	"fmt"
	"slices"

	"conclave/calibration"
	"conclave/collection"
	"conclave/configs"
	"conclave/evaluation"
	"conclave/search"

	"github.com/spf13/cobra"
)

// evaluatingAnswers is what `conclave evaluate answers` was asked to do.
type evaluatingAnswers struct {
	questions questionFiles
	reader    string
	passages  int
	asJSON    string
	chance    bool
	out       string
}

func newEvaluateAnswers(term terminal) *cobra.Command {
	var x evaluatingAnswers
	command := &cobra.Command{
		Use:   "answers",
		Short: "Measure the words that a reader marks, by exact match and F1",
		Long: `Asks a collection the questions of all files, lets a reader mark the words that
answer in the first passages, and compares them with the answers as SQuAD's script
does: exact match and F1, by domain. Beside auto's passages stand BM25's, and two
that know the answer: a passage that answers, and the best of auto's passages.

With --chance it fits how likely the words are right, on the same questions, on
these without the passages that answer, and on questions without answers; the
printed figures are of questions that were not fitted on. --out writes the fit.`,
		Example: `  conclave evaluate answers --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz
  conclave evaluate answers --collection all --questions dev.jsonl --chance --out experts/answers.yaml`,
		Args: cobra.NoArgs,
		RunE: configured(term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) }),
	}
	flags := command.Flags()
	addConfigFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.bindLimit(command, 0)
	flags.StringVar(&x.reader, "reader", "", "`name` of the reader (default: the first)")
	flags.IntVar(&x.passages, "passages", 10, "how many passages of a ranking it reads")
	flags.BoolVar(&x.chance, "chance", false, "fit the chance that the words are right")
	flags.StringVar(&x.out, "out", "", "`file` for the fitted chance")
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON")
	return command
}

func (x *evaluatingAnswers) run(cmd *cobra.Command, config configs.Config, term terminal) (err error) {
	if x.passages < 1 || x.passages > search.MostRead {
		return usagef("--passages is from 1 to %d", search.MostRead)
	}
	if x.out != "" && !x.chance {
		return usagef("--out is for what --chance fits")
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
	loaded := l.Engine.Readers()
	at := slices.IndexFunc(loaded, func(r search.ReaderInfo) bool { return x.reader == "" || r.Name == x.reader })
	if at < 0 {
		return fmt.Errorf("there is no reader %q among the %d that are loaded: name it under readers in the configuration", x.reader, len(loaded))
	}
	g := l.Collection.Acquire()
	defer g.Release()
	bar := newProgress(term.Err)
	found, err := evaluation.Answers(cmd.Context(), l.Engine, domains, evaluation.AnswerOptions{
		Reader: loaded[at].Name, Passages: x.passages, Timeout: evaluationTimeout, Has: has(g),
		Progress: func(done, total int) { bar.Report("reading", int64(done), int64(total), "questions") },
	})
	bar.Finish()
	if err != nil {
		return err
	}
	if err := errors.Join(found.WriteText(term.Out), writeJSON(x.asJSON, found)); err != nil || !x.chance {
		return err
	}
	fit, err := calibration.FitAnswers(found.Asked, found.TakenOut, loaded[at].Fingerprint)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(term.Out, "chance on questions that were not fitted on: ECE %.3f, AUROC %.3f, over %d questions, and these without the passages that answer\n", fit.ECE, fit.AUROC, fit.Questions)
	if x.out == "" {
		return nil
	}
	return writeFile(x.out, fit.Write)
}

func has(g *collection.Generation) func(id string) bool {
	return func(id string) bool { _, ok, err := g.Ordinal(id); return ok && err == nil }
}
