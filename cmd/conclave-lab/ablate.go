package main

import (
	"cmp"
	"context"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
	"example.org/conclave/research/ablation"
	"example.org/conclave/shipped"

	"github.com/spf13/cobra"
)

// ablateCommand is what `conclave-lab ablate` was asked to do.
type ablateCommand struct {
	questions cli.QuestionFiles
	trials    ablation.TrialOptions
	asJSON    string
}

// newAblate returns the command `conclave-lab ablate`, which measures what each expert contributes.
func newAblate(term cli.Terminal) *cobra.Command {
	var x ablateCommand
	command := &cobra.Command{
		Use:   "ablate",
		Short: "Measure what each expert of a collection contributes",
		Long: `Asks a collection questions whose passages are known, once, and compares

  - the gate with common alternatives: the base encoder and BM25 by reciprocal
    ranks and by the best fixed weight, the plain mean of the experts with BM25,
    and a jointly trained expert (--joint) with BM25;
  - the gate without one source at a time;
  - the gate with fewer and with more specialists for each question;
  - the gate with and without out-of-domain experts (--foreign names them; the
    questions of their domains are left out);
  - the gate and the confidence fitted on few questions with the shipped ones;
  - a calibrated collection before and after an expert is added (--held-out names
    it; the gate has seen neither the expert nor the questions of its domain);
  - two oracles over the experts: the expert of the question's domain, and the
    weights that Bayesian optimisation finds for each question in 50 steps.

The gate is fitted on other questions than those it answers (five folds by a
hash of the question's id). A fixed weight is the best one for these questions.
The collection is not changed.`,
		Example: `  conclave-lab ablate --collection my-index --questions dev.jsonl
  conclave-lab ablate --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz --joint multi \
    --foreign nq --held-out wiki --json ablation.json`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "store", "bundles", "encoder.provider")
	x.questions.BindLimit(command, 0)
	flags.IntVar(
		&x.trials.Gate.Specialists, "specialists", cli.AskedSpecialists,
		"how many experts with a domain the gate asks, the most familiar with the question; 0: all",
	)
	flags.StringVar(
		&x.trials.Base,
		"base",
		"",
		"the `expert` to compare with, alone and with BM25 (default: "+shipped.Base+", where it is one)",
	)
	flags.StringVar(&x.trials.Joint, "joint", "", "the `expert` that was trained on all domains together")
	flags.StringSliceVar(
		&x.trials.Foreign,
		"foreign",
		nil,
		"out-of-domain `experts`, separated by commas: the questions of their domains are left out of that trial",
	)
	flags.StringSliceVar(
		&x.trials.HeldOut,
		"held-out",
		nil,
		"`experts`, separated by commas, that are added in one trial; each has a domain of its name",
	)
	flags.StringSliceVar(
		&x.trials.Only,
		"trials",
		nil,
		"`names` of the trials, separated by commas: "+strings.Join(ablation.Trials(), ", ")+" (default: all)",
	)
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON")
	return command
}

// run reads the questions and measures on the configured collection, which it opens for measuring. It returns a usage
// error for a negative --specialists, and fails if a file cannot be read.
func (x *ablateCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	if x.trials.Gate.Specialists < 0 {
		return cli.Usagef("--specialists is 0 or more")
	}
	domains, err := x.questions.Read()
	if err != nil {
		return err
	}
	return cli.OpenForMeasuring(
		config, term, true, func(l *assembly.Assembly) error { return x.ablate(cmd.Context(), l, domains, term) },
	)
}

// ablate collects the answers of all sources to the questions, fits gates without one source at a time, and writes the
// findings. It returns a usage error if a flag names a source that the collection does not have. The figures may be
// printed already if the file of --json cannot be written.
func (x *ablateCommand) ablate(
	ctx context.Context,
	l *assembly.Assembly,
	domains []questions.Domain,
	term cli.Terminal,
) error {
	var names []string
	for _, e := range l.Engine.Experts() {
		names = append(names, e.Name)
	}
	if err := x.trials.Check(names); err != nil {
		return cli.UsageError{Err: err}
	}
	x.trials.Base = cmp.Or(x.trials.Base, shipped.Base)
	found, err := cli.Gather(ctx, l, domains, term)
	if err != nil {
		return err
	}
	o, err := l.FitOptions(nil, nil)
	if err != nil {
		return err
	}
	x.trials.Prior, x.trials.Gate.Towards, x.trials.Gate.WithoutLate = o.Prior, o.Towards, o.WithoutLate
	bar := cli.NewProgress(term.Err)
	x.trials.Progress = bar.Counting("fitting", "gates")
	report, err := ablation.Run(ctx, found, x.trials)
	bar.Finish()
	if err != nil {
		return err
	}
	if err := report.WriteText(term.Out); err != nil {
		return err
	}
	return cli.WriteJSON(x.asJSON, report)
}
