package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/evaluation"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"

	"github.com/spf13/cobra"
)

// calibrateCommand is what `conclave calibrate` was asked to do.
type calibrateCommand struct {
	questions   cli.QuestionFiles
	specialists int
	heldApart   []string
	asJSON      string
	evidence    string
	dry         bool
}

// newCalibrate returns the command `conclave calibrate`, which fits a collection's gate to questions with known
// passages.
func newCalibrate(term cli.Terminal) *cobra.Command {
	var x calibrateCommand
	command := &cobra.Command{
		Use:   "calibrate",
		Short: "Fit weights and confidences to questions with known passages",
		Long: `Asks a collection questions whose passages are known, and fits to the answers

  - the temperature of each expert, so that MUF's confidence is the probability
    that the first hit answers, and the power to which MUF raises it as a weight;
  - the weight of BM25 in the hybrid;
  - the gate, which sets the weight of each source for each question;
  - the probability that the first passage of an answer, and any of the first 5,
    10 and 20, answers: "confidence" and "min_confidence" of a search.

The printed figures are of questions that were held out of the fit (five folds by
a hash of the question's id). The result is calibration.yaml in the collection's
folder. "auto" is then the gate, or another method that is significantly better
and that the collection can answer by.`,
		Example: `  conclave calibrate --collection my-index --questions dev.jsonl
  conclave calibrate --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz --json fit.json`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "store", "bundles", "encoder.provider")
	x.questions.BindLimit(command, 0)
	flags.IntVar(
		&x.specialists, "specialists", cli.AskedSpecialists,
		"how many experts with a domain \"auto\" asks, the most familiar with the question; 0: all",
	)
	flags.StringArrayVar(
		&x.heldApart,
		"apart",
		nil,
		"`[NAME=]FILE` of questions that are kept for a later measurement; calibrating fails if one of them is in --questions too; may be repeated",
	)
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON: every measure, by expert, source and domain")
	flags.StringVar(
		&x.evidence,
		"evidence",
		"",
		"`file` for the data that the gate is fitted to, as JSON Lines; nothing is fitted then (research/bench/gate)",
	)
	flags.BoolVar(&x.dry, "dry-run", false, "print the figures, and write nothing")
	command.AddCommand(newCalibrateReader(term))
	return command
}

// run reads the questions, opens the collection without its calibration, and calls fit. It returns a usage error for a
// negative --specialists, and fails if a file cannot be read or a question is both to be fitted and held apart.
func (x *calibrateCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	if x.specialists < 0 {
		return cli.Usagef("--specialists is 0 or more")
	}
	domains, err := x.questions.Read()
	if err != nil {
		return err
	}
	if err := x.checkApart(domains); err != nil {
		return err
	}
	return cli.OpenForMeasuring(
		config, term, true, func(l *assembly.Assembly) error { return x.fit(cmd.Context(), l, domains, term) },
	)
}

// fit asks the collection the questions, fits a calibration to the answers, prints its figures, and stores it in the
// collection unless --dry-run is set. With --evidence it fits nothing, and only writes what the sources answered to
// that file. It fails before any question is asked if the collection must not be calibrated. After an error or with
// --dry-run the stored calibration is as it was, while the figures may be printed already.
func (x *calibrateCommand) fit(
	ctx context.Context,
	l *assembly.Assembly,
	domains []questions.Domain,
	term cli.Terminal,
) error {
	if x.evidence == "" && !x.dry {
		if err := l.Store.MayCalibrate(ctx); err != nil {
			return err
		}
	}
	if x.evidence != "" {
		found, err := cli.Gather(ctx, l, domains, term)
		if err != nil {
			return err
		}
		return cli.WriteFile(x.evidence, func(w io.Writer) error { return found.Write(w, x.specialists) })
	}
	generated, err := l.GenerateQuestions(ctx)
	if err != nil {
		return err
	}
	beside := []questions.Domain{questions.Nonsense(), questions.Subjects(), generated}
	found, err := cli.Gather(ctx, l, slices.Concat(domains, beside), term)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(term.Err)
	o, err := l.FitOptions(
		evaluation.Reading(l.Engine, l, bar.Counting("reading", "questions")),
		evaluation.Reranking(l.Engine, l, bar.Counting("reranking", "questions")),
	)
	if err != nil {
		return err
	}
	o.Specialists = x.specialists
	record, report, err := calibration.Fit(ctx, found, o)
	bar.Finish()
	if err != nil {
		return err
	}
	if err := report.WriteText(term.Out); err != nil {
		return err
	}
	if err := cli.WriteJSON(x.asJSON, report); err != nil || x.dry {
		return err
	}
	record.Written = time.Now().UTC().Truncate(time.Second)
	at, err := l.Calibrate(ctx, record)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(term.Out, "\nwrote %s: auto is now %s\n", at, record.Auto)
	return nil
}

// checkApart returns an error if a question to fit on is also in the files that are held apart for measuring. It also
// fails if one of these files cannot be read, and returns nil if there are none.
func (x *calibrateCommand) checkApart(domains []questions.Domain) error {
	apart := cli.QuestionFiles{Files: x.heldApart, Format: x.questions.Format}
	others, err := apart.Read()
	if err != nil {
		return err
	}
	return questions.Disjoint(domains, others)
}
