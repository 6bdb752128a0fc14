package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"conclave/calibration"
	"conclave/configs"
	"conclave/fusion"
	"conclave/questions"
	"conclave/search"
	"conclave/serving"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// fittingPrior is what `conclave calibrate prior` was asked to do.
type fittingPrior struct {
	questions   questionFiles
	collections []string
	limit       int
	foreign     int
	out         string
}

// worstPrior is the calibration error on domains that were left out above which no
// confidence is better than one.
const worstPrior = .1

func newCalibratePrior(term terminal) *cobra.Command {
	var x fittingPrior
	command := &cobra.Command{
		Use:   "prior",
		Short: "Fit the confidence that is shipped, to collections of several domains",
		Long: `Asks each collection its own questions, the same without the passages that
answer, and questions of the other domains, under the shipped gate, and fits the
chance that the first passage answers to all of them. What it prints is of each
domain by the fit to the others. The result is for collections that nobody
calibrated (experts/confidence.yaml), and what calibrations begin with. Above an
ECE of 0.10 nothing is written.`,
		Example: `  conclave calibrate prior --collections wiki=c/wiki --questions wiki=wiki/dev.jsonl.gz \
    --collections policy=c/policy --questions policy=policy/dev.jsonl.gz --out experts/confidence.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			return x.run(cmd, config, term)
		},
	}
	flags := command.Flags()
	addConfigFlags(flags, "bundles", "encoder.provider")
	x.questions.bind(flags)
	flags.StringArrayVar(&x.collections, "collections", nil, "`NAME=FOLDER` of the collection of a domain; may be repeated")
	flags.IntVar(&x.limit, "limit", 300, "at most so many questions of each domain, chosen by a hash of their ids")
	flags.IntVar(&x.foreign, "foreign", 30, "questions of each domain that the others' collections are asked")
	flags.StringVar(&x.out, "out", "", "`file` to write; none: print alone")
	_ = command.MarkFlagRequired("questions")
	_ = command.MarkFlagRequired("collections")
	return command
}

func (x *fittingPrior) run(cmd *cobra.Command, config configs.Config, term terminal) error {
	folders, err := byName("--collections", x.collections)
	if err != nil {
		return err
	}
	domains, err := x.questions.read(x.limit)
	if err != nil {
		return err
	}
	if len(domains) < 3 {
		return usagef("%s of questions: three are needed at least, so that what is left out is measured by several", plural(int64(len(domains)), "domain"))
	}
	config.Limits.Timeout = max(config.Limits.Timeout, evaluationTimeout)
	var answered []calibration.PriorQuestions
	for i := range domains {
		folder, ok := folders[domains[i].Name]
		if !ok {
			return usagef("there is no collection for the questions %q: write --collections %s=FOLDER", domains[i].Name, domains[i].Name)
		}
		own := config
		own.Collection = folder
		a, err := x.ask(cmd, own, domains, i, term)
		if err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
		answered = append(answered, a)
	}
	prior, outcomes, err := calibration.FitPrior(answered, chanceDepths())
	if err != nil {
		return err
	}
	ece := calibration.WeightedECE(outcomes)
	printPrior(term.Out, &prior, ece, calibration.WeightedAUROC(outcomes))
	if ece > worstPrior {
		return fmt.Errorf("the ECE on domains that were left out is %.3f, above %.2f: such a confidence is not to be shipped", ece, worstPrior)
	}
	if x.out == "" {
		return nil
	}
	return writeFile(x.out, func(w io.Writer) error { return writePrior(w, &prior) })
}

// ask asks the collection of one of the domains.
func (x *fittingPrior) ask(cmd *cobra.Command, config configs.Config, domains []questions.Domain, at int, term terminal) (out calibration.PriorQuestions, err error) {
	out.Domain = domains[at].Name
	l, err := serving.Assemble(serving.Options{Config: config, Log: newLogger(term.Err, config.Log), Observer: complaining{term.Err}, Uncalibrated: true})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	gate := l.LineUp().Defaults.Gate
	if gate == nil || l.LineUp().Late == nil {
		return out, errors.New("it is not searched by the shipped gate with late interaction: index it with the default experts")
	}
	foreign := questions.Domain{Name: "foreign"}
	for i, d := range domains {
		if i == at {
			continue
		}
		for _, q := range questions.Sample(d.Questions, x.foreign) {
			foreign.Questions = append(foreign.Questions, questions.Question{ID: d.Name + "/" + q.ID, Text: q.Text, Unanswerable: true})
		}
	}
	bar := newProgress(term.Err)
	own, strangers, err := gather(cmd.Context(), l, []questions.Domain{domains[at], foreign}, search.Request{TimeoutMS: int(evaluationTimeout / time.Millisecond)}, 2,
		func(done, total int) { bar.Report("asking "+out.Domain, int64(done), int64(total), "questions") })
	bar.Finish()
	if err != nil {
		return out, err
	}
	specialists := l.LineUp().Defaults.Specialists
	gates := slices.Repeat([]fusion.Gate{*gate}, calibration.Folds)
	var f fit
	questions, others := f.newQuestions(own), f.newQuestions(strangers)
	answers, err := calibration.AnswerByFold(gates, questions, specialists)
	if err != nil {
		return out, err
	}
	ranked, err := calibration.RankAnswers(questions, answers, gates, specialists)
	if err != nil {
		return out, err
	}
	out.Own, out.TakenOut = ranked[:len(questions)], ranked[len(questions):]
	answers, err = calibration.AnswerByFold(gates, others, specialists)
	for i, a := range answers {
		out.Foreign = append(out.Foreign, calibration.RankedQuestion{ID: others[i].ID, Signals: a.Signals})
	}
	return out, err
}

func printPrior(out io.Writer, prior *calibration.Prior, ece, auroc float64) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "left out\tquestions\tECE\tAUROC\t")
	n := 0
	for _, d := range prior.LeftOut {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t\n", d.Domain, d.Questions, d.ECE, d.AUROC)
		n += d.Questions
	}
	_, _ = fmt.Fprintf(t, "all\t%d\t%.3f\t%.3f\t\n", n, ece, auroc)
	_ = t.Flush()
}

func writePrior(w io.Writer, prior *calibration.Prior) error {
	var b bytes.Buffer
	b.WriteString("# The confidence of collections that nobody calibrated, made by `conclave calibrate\n# prior` (docs/experts.md has the command).\n")
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(prior), encoder.Close()); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
