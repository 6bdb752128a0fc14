package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"conclave/calibration"
	"conclave/configs"
	"conclave/models"
	"conclave/questions"
	"conclave/search"
	"conclave/serving"

	"github.com/spf13/cobra"
)

// calibrating is what `conclave calibrate` was asked to do.
type calibrating struct {
	questions   questionFiles
	limit       int
	depth       int
	candidate   int
	specialists int
	alphaBy     string
	alphaOver   string
	apart       []string
	report      string
	asJSON      string
	evidence    string
	dry         bool
}

// askedSpecialists is how many specialists "auto" asks where nobody says
// otherwise. One is as good where every question has its domain's expert; the
// second is for those between two domains.
const askedSpecialists = 2

func newCalibrate(term terminal) *cobra.Command {
	var x calibrating
	command := &cobra.Command{
		Use:   "calibrate",
		Short: "Fit weights and confidences to questions with known passages",
		Long: `Asks a collection questions whose passages are known, and fits to the answers

  - each expert's temperature, so that MUF's confidence is the chance that its
    first hit answers;
  - BM25's weight in the hybrid;
  - the gate, which weighs experts and words by question;
  - the chance that the first passage of an answer, and any of the first 5, 10
    and 20, answers: "confidence" and "min_confidence" of a search.

What it prints is measured on questions that the numbers were not fitted on
(five folds by a hash of the question's id). The result is calibration.yaml in
the collection's folder; "auto" is then the gate, or another
method that is surely better and that the collection can answer by.`,
		Example: `  conclave calibrate --collection my-index --questions dev.jsonl
  conclave calibrate --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz --report pictures/`,
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
	addConfigFlags(flags, "collection", "bundles", "encoder.provider")
	x.questions.bind(flags)
	flags.IntVar(&x.limit, "limit", 0, "at most so many questions of each domain, chosen by a hash of their ids; 0: all")
	flags.IntVar(&x.depth, "depth", 100, "first hits that the experts' confidence is measured over")
	flags.IntVar(&x.candidate, "candidates", 0, "hits of each source (default: search.candidates of the configuration)")
	flags.IntVar(&x.specialists, "specialists", askedSpecialists, "experts with a domain that \"auto\" asks, the most familiar with the question; 0: all, at the price of their encoder passes")
	flags.StringVar(&x.alphaBy, "alpha-by", string(calibration.TopK), "what BM25's weight in the hybrid makes high: top-k (the first passage answers) or ndcg (of the first ten)")
	flags.StringVar(&x.alphaOver, "alpha-over", string(calibration.OverQuestions), "over what that is averaged: mix (all questions) or domains (each counts the same)")
	flags.StringArrayVar(&x.apart, "apart", nil, "`[NAME=]FILE` of questions to be measured on later: refused when it shares one with --questions; may be repeated")
	flags.StringVar(&x.report, "report", "", "`folder` for what was fitted, by expert, source and domain (details.txt), and reliability diagrams (SVG)")
	flags.StringVar(&x.asJSON, "json", "", "`file` to write for programs")
	flags.StringVar(&x.evidence, "evidence", "", "`file` for what the gate is fitted on, as JSON Lines: nothing is fitted then (bench/gate)")
	flags.BoolVar(&x.dry, "dry-run", false, "print, and write nothing")
	_ = command.MarkFlagRequired("questions")
	command.AddCommand(newCalibratePrior(term))
	return command
}

func (x *calibrating) run(cmd *cobra.Command, config configs.Config, term terminal) (err error) {
	if x.depth < 2 || x.limit < 0 || x.candidate < 0 || x.specialists < 0 {
		return usagef("--depth is at least 2; --limit, --candidates and --specialists are 0 or more")
	}
	if x.alphaBy != string(calibration.TopK) && x.alphaBy != string(calibration.NDCG) {
		return usagef("--alpha-by is %q: %s and %s are possible", x.alphaBy, calibration.TopK, calibration.NDCG)
	}
	if x.alphaOver != string(calibration.OverQuestions) && x.alphaOver != string(calibration.OverDomains) {
		return usagef("--alpha-over is %q: %s and %s are possible", x.alphaOver, calibration.OverQuestions, calibration.OverDomains)
	}
	if err := x.questions.check(); err != nil {
		return err
	}
	domains, err := x.questions.read(x.limit)
	if err != nil {
		return err
	}
	if err := x.checkApart(domains); err != nil {
		return err
	}
	config.Limits.Timeout = max(config.Limits.Timeout, evaluationTimeout)
	config.Limits.Candidates = max(config.Limits.Candidates, x.depth, x.candidate)
	l, err := serving.Assemble(serving.Options{Config: config, Log: newSaying(term.Err, config.Log), Observer: complaining{term.Err}, Uncalibrated: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for _, d := range domains {
		if err := hasAny(l, d); err != nil {
			return fmt.Errorf("%s: %w", config.Collection, err)
		}
	}
	bar := newProgress(term.Err)
	gathered, unanswerable, err := gather(cmd.Context(), l, domains, search.Request{Candidates: x.candidate, TimeoutMS: int(evaluationTimeout / time.Millisecond)}, x.depth,
		func(done, total int) { bar.Report("asking", int64(done), int64(total), "questions") })
	bar.Finish()
	if err != nil {
		return err
	}
	if x.evidence != "" {
		return writeEvidence(x.evidence, gathered, x.specialists)
	}
	prior, err := serving.ShippedPrior()
	if err != nil {
		return err
	}
	fitted, err := fitAll(cmd.Context(), gathered, unanswerable, prior, fingerprints(l), x.depth, calibration.GateOptions{Specialists: x.specialists,
		Towards: l.LineUp().Defaults.Gate, WithoutLate: l.LineUp().Defaults.GateWithoutLate},
		calibration.AlphaOptions{Quality: calibration.Quality(x.alphaBy), Balance: calibration.Balance(x.alphaOver)})
	if err != nil {
		return err
	}
	notes, err := fitted.choose(func() error { return l.TryRecord(&fitted.record) })
	if err != nil {
		return err
	}
	fitted.print(term.Out, gathered)
	for _, note := range notes {
		_, _ = fmt.Fprintf(term.Out, "\n%s\n", note)
	}
	if x.asJSON != "" {
		if err := fitted.writeJSON(x.asJSON, len(gathered)); err != nil {
			return err
		}
	}
	if x.report != "" {
		if err := fitted.draw(x.report, gathered); err != nil {
			return err
		}
	}
	if x.dry {
		return nil
	}
	fitted.record.Written = time.Now().UTC().Truncate(time.Second)
	for _, d := range domains {
		fitted.record.Questions = append(fitted.record.Questions, calibration.QuestionSet{Domain: d.Name, Questions: len(d.Questions), SHA256: d.SHA256})
	}
	if err := fitted.record.Write(config.Collection); err != nil {
		return fmt.Errorf("writing the calibration of %s: %w", config.Collection, err)
	}
	_, _ = fmt.Fprintf(term.Out, "\nwrote %s: auto is now %s\n", filepath.Join(config.Collection, calibration.RecordFile), fitted.record.Auto)
	return nil
}

// checkApart refuses to fit on questions that are to be measured on.
func (x *calibrating) checkApart(domains []questions.Domain) error {
	if len(x.apart) == 0 {
		return nil
	}
	apart := questionFiles{files: x.apart, format: x.questions.format}
	others, err := apart.read(0)
	if err != nil {
		return err
	}
	for _, fitted := range domains {
		for _, measured := range others {
			if err := questions.Disjoint(fitted, measured); err != nil {
				return err
			}
		}
	}
	return nil
}

// fingerprints are those of the experts' question encoders, by name.
func fingerprints(l *serving.Assembly) map[string]string {
	out := map[string]string{}
	for _, e := range l.Experts.All() {
		out[e.Name()] = e.Encoder.Fingerprint(models.Question)
	}
	return out
}

// draw writes the details, and a reliability diagram for each expert and for the
// answer.
func (f *fit) draw(folder string, questions []asked) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	err := writeFile(filepath.Join(folder, "details.txt"), func(out io.Writer) error {
		w := bufio.NewWriter(out)
		f.writeDetails(w, questions)
		return w.Flush()
	})
	if err != nil {
		return err
	}
	for name, outcomes := range f.outcomes() {
		r, err := calibration.NewReliability(outcomes)
		if err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(folder, name+".svg"))
		if err != nil {
			return err
		}
		if err := errors.Join(r.WriteSVG(file, name), file.Close()); err != nil {
			return err
		}
	}
	return nil
}
