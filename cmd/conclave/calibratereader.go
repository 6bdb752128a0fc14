package main

import (
	"context"
	"errors"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/evaluation"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"

	"github.com/spf13/cobra"
)

// fitReaderCommand is what `conclave calibrate reader` was asked to do.
type fitReaderCommand struct {
	questions cli.QuestionFiles
	out       string
}

// newCalibrateReader returns the command `conclave calibrate reader`, which fits the shipped chances of a reader's
// output.
func newCalibrateReader(term cli.Terminal) *cobra.Command {
	var x fitReaderCommand
	command := &cobra.Command{
		Use:   "reader",
		Short: "Fit the shipped probabilities that what a reader marks is right",
		Long: `Asks a collection of several domains their questions, by the shipped gate, once
with the passages that answer and once without, and questions that nothing answers.
A reader reads the first five passages. Two probabilities are fitted to its output:
that the marked words are right, and that the first passage answers. The printed
figures are of questions whose domain was not fitted on. The result
(shipped/answers.yaml) is what calibrations of collections begin with.`,
		Example: `  conclave calibrate reader --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz --out shipped/answers.yaml`,
		Args:    cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.BindLimit(command, 150)
	flags.StringVar(&x.out, "out", "", "`file` to write (default: none)")
	return command
}

// run reads the questions and fits on the configured collection, which it opens for measuring. It fails if a file
// cannot be read.
func (x *fitReaderCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	domains, err := x.questions.Read()
	if err != nil {
		return err
	}
	return cli.OpenForMeasuring(
		config, term, true, func(l *assembly.Assembly) error { return x.fit(cmd.Context(), l, domains, term) },
	)
}

// fit asks the collection the questions, fits the chances of a reader's output, prints the figures, and writes the
// result to the file of --out, if that is named. It fails if no reader is loaded, or the collection lacks the shipped
// gate or late interaction. Nothing is written then.
func (x *fitReaderCommand) fit(
	ctx context.Context,
	l *assembly.Assembly,
	domains []questions.Domain,
	term cli.Terminal,
) error {
	shipped := l.LineUp().Defaults
	if shipped.Gate == nil || shipped.Chances == nil {
		return errors.New(
			"the collection is not searched by the shipped gate with late interaction: index it with the default experts",
		)
	}
	found, err := cli.Gather(ctx, l, domains, term)
	if err != nil {
		return err
	}
	asked, err := found.PriorQuestions("", shipped.Gate, shipped.GateWithoutLate, shipped.Specialists)
	if err != nil {
		return err
	}
	confidences, err := asked.Confident(shipped.Chances)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(term.Err)
	options := evaluation.Reading(l.Engine, l, bar.Counting("reading", "questions"))
	if options == nil {
		return errors.New(
			"no reader is loaded: make the shipped one with `conclave setup`, or name one under readers in the configuration",
		)
	}
	options.ByDomain = true
	fit, err := calibration.FitReading(ctx, asked.Answers, confidences, *options)
	bar.Finish()
	if err != nil {
		return err
	}
	if err := fit.WriteText(term.Out); err != nil || x.out == "" {
		return err
	}
	return cli.WriteFile(x.out, fit.Write)
}
