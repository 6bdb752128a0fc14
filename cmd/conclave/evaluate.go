package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/evaluation"
	htmlreport "example.org/conclave/evaluation/report"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search/learned"
	"example.org/conclave/shipped"

	"github.com/spf13/cobra"
)

// evaluateCommand is what `conclave evaluate` was asked to do.
type evaluateCommand struct {
	questions cli.QuestionFiles
	fusions   string
	also      []string
	alone     bool
	answers   string
	metrics   []string
	measured  evaluation.MeasureOptions

	report, asJSON, state string
	runs                  evaluation.Runs
}

// newEvaluate returns the command `conclave evaluate`, which measures the accuracy of every method of ranking.
func newEvaluate(term cli.Terminal) *cobra.Command {
	var x evaluateCommand
	command := &cobra.Command{
		Use:   "evaluate",
		Short: "Measure the accuracy of every method on questions with known passages",
		Long: `Asks a collection the questions of all files, once for all methods. It compares
each source alone, every fusion method, and two oracles: one knows the domain of
each question, the other the best expert of each question.

Each file is a domain; NAME=FILE names it. The printed table is of all questions
together, with p-values against a reference method. The report has every measure,
for each domain and averaged over domains, and the times of single requests.

Questions are JSON Lines ({"id","question","answers","positive_ids","grades"}),
DPR's csv (question TAB ['answer', …]), BEIR folders, or TREC topics (id TAB text)
with --qrels; plain or gzip-compressed.

With --state an interrupted evaluation continues where it stopped.`,
		Example: `  conclave evaluate --collection my-index --questions dev.jsonl
  conclave evaluate --collection all --questions wiki=wiki/dev.jsonl.gz --questions nq=nq/dev.jsonl.gz \
    --limit 500 --state eval.state --report report.html --json report.json --runs runs/
  conclave evaluate --collection cacm --questions cacm=topics.tsv --qrels cacm=qrels.txt
  conclave evaluate --collection all --questions dev.jsonl --against "base and words" \
    --also "base and words: hybrid experts=base alpha=0.05"`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "store", "bundles", "encoder.provider", "search.alpha")
	x.questions.BindLimit(command, 0)
	flags.StringVar(
		&x.fusions, "fusions", "all",
		"fusion methods separated by commas; all (those that the sources allow, with variants); or none",
	)
	flags.StringArrayVar(
		&x.also,
		"also",
		nil,
		"a further `method`, \"NAME: FUSION experts=a,b bm25=no alpha=0.05 weights=a:2 missing=min normalisation=zscore\"; may be repeated",
	)
	flags.BoolVar(&x.alone, "alone", true, "measure each source alone and the oracles too")
	flags.StringVar(
		&x.measured.Reference,
		"against",
		"",
		"reference `method` of the significance tests (default: auto, or the first fusion method)",
	)
	flags.StringVar(&x.answers, "answers", "text", "form of the answers: text, or regex for the patterns of TREC")
	flags.StringSliceVar(&x.metrics, "metrics", nil,
		"further `measures` separated by commas, at any depth: nDCG@3, MAP@100, MRR@5, R@50, top-10")
	flags.IntVar(&x.measured.Depth, "depth", 100, "results in each ranking")
	flags.IntVar(
		&x.measured.Candidates, "candidates", 0,
		"hits of each source (default: search.candidates of the configuration)",
	)
	flags.BoolVar(&x.measured.Exact, "exact", false, "compare with every vector instead of using the graph")
	flags.IntVar(&x.measured.Timed, "timed", 100, "how many `questions` are timed as single requests; 0: none")
	flags.StringVar(&x.report, "report", "", "HTML `file` to write, with plots")
	flags.StringVar(&x.asJSON, "json", "", "`file` to write as JSON; '-' for standard output instead of the table")
	flags.StringVar(&x.state, "state", "", "`file` that records progress, so that an interrupted evaluation continues")
	flags.StringVar(&x.runs.Folder, "runs", "", "`folder` for the rankings of each method")
	flags.StringSliceVar(
		&x.runs.Forms, "run-forms", evaluation.RunForms(),
		"forms of the rankings: trec, dpr (large, since it contains the texts)",
	)
	flags.StringArrayVar(&x.runs.Of, "runs-of", nil, "write the rankings of this `method` only; may be repeated")
	command.AddCommand(newEvaluateAnswers(term))
	return command
}

// run checks the flags, reads the questions, opens the collection without a cache of vectors, and calls evaluate. It
// returns a usage error for an invalid flag before a file is read.
func (x *evaluateCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	also, err := x.checkFlags()
	if err != nil {
		return err
	}
	domains, err := x.questions.Read()
	if err != nil {
		return err
	}
	config.Limits.K, config.Limits.Candidates = max(config.Limits.K, x.measured.Depth), max(
		config.Limits.Candidates,
		x.measured.Candidates,
	)
	config.Encoder.CacheEntries = 0 // a vector that is still there would make the times of single requests too good
	return cli.OpenForMeasuring(
		config, term, false,
		func(l *assembly.Assembly) error { return x.evaluate(cmd.Context(), l, config, domains, also, term) },
	)
}

// evaluate asks the collection the questions by all methods, and writes the findings and the report that the flags
// name. It fails before any question is asked if the questions of a domain are not about the collection's passages. The
// report is written before the findings; after an error of one, the other may be there.
func (x *evaluateCommand) evaluate(
	ctx context.Context,
	l *assembly.Assembly,
	config configs.Config,
	domains []questions.Domain,
	also []evaluation.Method,
	term cli.Terminal,
) error {
	g, done := l.Passages(ctx)
	defer done()
	for _, d := range domains {
		if err := d.About(g); err != nil {
			return fmt.Errorf("%s: %w", config.Passages(), err)
		}
	}
	if err := cli.WarnOfAbsent(term, g, domains, "no method can find them"); err != nil {
		return err
	}
	o, err := x.measureOptions(ctx, l, config, domains, also)
	if err != nil {
		return err
	}
	bar := cli.NewProgress(term.Err)
	o.Progress = func(stage string, done, total int) { bar.Report(stage, int64(done), int64(total), "questions") }
	found, err := evaluation.Evaluate(ctx, l.Engine, domains, o)
	bar.Finish()
	if err != nil {
		return err
	}
	if x.report != "" {
		if err := cli.WriteFile(x.report, func(out io.Writer) error { return htmlreport.Write(out, found) }); err != nil {
			return err
		}
	}
	if err := x.writeFindings(found, term); err != nil || x.report != "" || x.asJSON != "" {
		return err
	}
	_, err = fmt.Fprintln(
		term.Out, "\n--report FILE.html has more measures, each domain and plots; --json FILE is for programs",
	)
	return err
}

// checkFlags returns the methods that the flags add to the usual ones, and sets the metrics to measure. It returns a
// usage error if a flag is invalid, before anything is opened.
func (x *evaluateCommand) checkFlags() ([]evaluation.Method, error) {
	if x.answers != "text" && x.answers != "regex" {
		return nil, cli.Usagef("--answers is %q: it has to be text or regex", x.answers)
	}
	if x.measured.Depth < 1 || x.measured.Timed < 0 || x.measured.Candidates < 0 {
		return nil, cli.Usagef("--depth is at least 1; --timed and --candidates are 0 or more")
	}
	if x.runs.Folder == "" && len(x.runs.Of) > 0 {
		return nil, cli.Usagef("--runs-of needs --runs, the folder to write to")
	}
	if err := evaluation.CheckFusions(x.fusions); err != nil {
		return nil, cli.Usagef("--fusions: %w", err)
	}
	for _, name := range x.metrics {
		m, err := evaluation.AskedMetric(name)
		if err != nil {
			return nil, cli.Usagef("--metrics: %w", err)
		}
		x.measured.Metrics = append(x.measured.Metrics, m)
	}
	var also []evaluation.Method
	for _, text := range x.also {
		m, err := evaluation.ParseMethod(text)
		if err != nil {
			return nil, cli.Usagef("--also: %w", err)
		}
		also = append(also, m)
	}
	return also, nil
}

// measureOptions returns the options of the flags, completed with the methods that the collection's sources allow, the
// calibration in use, and the files to write. It reads the file of --state, and fails if that or a method cannot be
// used. The options are of no use after an error.
func (x *evaluateCommand) measureOptions(
	ctx context.Context,
	l *assembly.Assembly,
	config configs.Config,
	domains []questions.Domain,
	also []evaluation.Method,
) (o evaluation.MeasureOptions, err error) {
	o = x.measured
	o.Out = l.LineUp().Absent
	o.Timeout = cli.EvaluationTimeout
	o.Patterns = x.answers == "regex"
	lineup := evaluation.Lineup(l.Dense())
	o.Methods, o.Notes, err = lineup.Choose(
		ctx, l.Engine, x.alone, x.fusions, also, domains[0].Questions[0].Text, cli.EvaluationTimeout,
	)
	if err != nil {
		return o, err
	}
	generation, passages := l.Engine.Generation()
	o.About = evaluation.About{Collection: config.Passages(), Generation: generation, Passages: passages, Experts: lineup,
		Version: version, Settings: config.Search}
	record, err := l.Store.Calibration()
	if err == nil {
		err = o.NoteCalibration(record, domains)
	}
	if err != nil {
		return o, err
	}
	if x.alone && slices.ContainsFunc(lineup, func(e learned.ExpertInfo) bool { return e.Name == shipped.Base }) {
		o.Otherwise = shipped.Base
	}
	if x.runs.Folder != "" {
		o.Runs = &x.runs
	}
	if x.state != "" {
		o.State, err = evaluation.OpenState(x.state)
	}
	return o, err
}

// writeFindings writes findings to the terminal: as JSON for "--json -", otherwise as a table, and then also as JSON to
// the file of --json if one is named. It stops at the first error.
func (x *evaluateCommand) writeFindings(found interface{ WriteText(io.Writer) error }, term cli.Terminal) error {
	if x.asJSON == "-" {
		return cli.EncodeIndented(term.Out, found)
	}
	if err := cli.WriteJSON(x.asJSON, found); err != nil {
		return err
	}
	return found.WriteText(term.Out)
}
