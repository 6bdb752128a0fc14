package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/evaluation"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search/learned"

	"github.com/spf13/cobra"
)

// fitVerdictCommand is what `conclave-lab calibrate verdict` was asked to do.
type fitVerdictCommand struct {
	fitPriorCommand
	keep   string // path of an earlier result, of which all but the reader's confidence is kept; "": none
	reader string // the fingerprint of the one that read
}

// newFitVerdict returns the command `conclave-lab calibrate verdict`, which fits the shipped verdict.
func newFitVerdict(term cli.Terminal) *cobra.Command {
	var x fitVerdictCommand
	command := &cobra.Command{
		Use:   "verdict",
		Short: "Fit the shipped verdict to collections of several domains",
		Long: `Asks each collection its own questions, questions of the other domains in its
language, and texts that ask nothing, under the shipped gate, and fits the probability that the
collection answers at all, without and with a reader, and the confidence of what a
reader puts first. "found", "doubtful" and "not_found" are told by thresholds, which
the domains that were left out give; the printed figures are leave-one-out. The
result (shipped/verdict.yaml) serves all collections; those that are calibrated have
thresholds of their own.`,
		Example: `  conclave-lab calibrate verdict --collections wiki=c/wiki --questions wiki=wiki/dev.jsonl.gz \
    --collections nq=c/nq --questions nq=nq/dev.jsonl.gz --near wiki,nq --out shipped/verdict.yaml`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	x.bind(command, 150, 10)
	command.Flags().StringVar(&x.keep, "keep", "",
		"an earlier `file` of verdicts, of which only the confidence of what a reader puts first is fitted anew")
	return command
}

// run asks every domain's questions of its collection, fits the verdict to all answers and prints the figures. It
// writes the result to the file of --out, if one is named. With --keep it prints only the confidence with a reader, and
// the result has the other verdicts of that file. It fails where there are fewer than three domains, or a file of
// questions or a collection cannot be opened or asked.
func (x *fitVerdictCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	domains, generated, folders, err := x.readQuestions(cmd.Context(), config, term)
	if err != nil {
		return err
	}
	var answered []calibration.VerdictQuestions
	for i, d := range domains {
		own := config
		own.Collection = folders[d.Name]
		a, err := x.judgeDomain(cmd.Context(), own, domains, generated, i, term)
		if err != nil {
			return fmt.Errorf("%s: %w", own.Collection, err)
		}
		answered = append(answered, a)
	}
	verdict, err := calibration.FitVerdict(answered, x.reader)
	if err != nil {
		return err
	}
	if x.keep != "" {
		verdict, err = withReaderConfidence(x.keep, verdict)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(term.Out, "confidence with a reader: ECE %.3f, AUROC %.3f\n",
			verdict.Read.First.ECE, verdict.Read.First.AUROC)
		if err != nil || x.out == "" {
			return err
		}
		return cli.WriteFile(x.out, verdict.Write)
	}
	if err := verdict.WriteText(term.Out); err != nil || x.out == "" {
		return err
	}
	return cli.WriteFile(x.out, verdict.Write)
}

// withReaderConfidence returns the verdicts in the file at path, with the confidence of what a reader puts first taken
// from fit. It fails if the file cannot be read, or if either of the two has no reader or they are of different
// readers. fit is not changed.
func withReaderConfidence(path string, fit *calibration.VerdictFit) (*calibration.VerdictFit, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	kept, err := calibration.ParseVerdict(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if kept.Read == nil || fit.Read == nil || kept.Read.Reader != fit.Read.Reader {
		return nil, fmt.Errorf("%s is not of the reader that is loaded: fit the verdict without --keep", path)
	}
	kept.Read.First = fit.Read.First
	kept.Reranked = fit.Reranked
	return kept, nil
}

// judgeDomain asks the collection of domains[at] all questions (gatherEvidence) except those that are not asked of it
// (isAsked), and lets its reader read the passages found. It returns the answers for FitVerdict, and sets x.reader to
// the reader's name. Without a reader, the answers have nothing of one and x.reader stays as it is. domains and
// generated are not changed. It fails if the collection cannot be opened, or asking or reading fails.
func (x *fitVerdictCommand) judgeDomain(
	ctx context.Context,
	config configs.Config,
	domains, generated []questions.Domain,
	at int,
	term cli.Terminal,
) (out calibration.VerdictQuestions, err error) {
	name := domains[at].Name
	domains, generated, at = x.withoutUnasked(domains, generated, at)
	err = cli.OpenForMeasuring(config, term, true, func(l *assembly.Assembly) error {
		found, err := x.gatherEvidence(ctx, l, domains, generated, at, term)
		if err != nil {
			return err
		}
		shipped := l.LineUp().Defaults
		out.PriorQuestions, err = found.PriorQuestions(name, shipped.Gate, shipped.GateWithoutLate, shipped.Specialists)
		if err != nil {
			return err
		}
		bar := cli.NewProgress(term.Err)
		defer bar.Finish()
		o := evaluation.Reading(l.Engine, l, bar.Counting("reading", "questions"))
		ofBase := func(x learned.Expert) bool { return !x.Foreign }
		if o == nil || !slices.ContainsFunc(l.LineUp().Late, ofBase) { // the reader reads English
			return nil
		}
		x.reader = o.Reader
		return out.Read(ctx, shipped.Chances, l.LineUp().Readers[0].Ranking, o)
	})
	return out, err
}
