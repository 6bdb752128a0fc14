package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search"

	"github.com/spf13/cobra"
)

// fitPriorCommand is what `conclave-lab calibrate prior` was asked to do.
type fitPriorCommand struct {
	questions   cli.QuestionFiles
	collections []string
	near        []string            // lists of domains that may answer each other's questions
	languages   map[string][]string // codes of each domain's passages, by its name, which readQuestions sets
	foreign     int
	out         string
}

// newFitPrior returns the command `conclave-lab calibrate prior`, which fits the shipped confidence.
func newFitPrior(term cli.Terminal) *cobra.Command {
	var x fitPriorCommand
	command := &cobra.Command{
		Use:   "prior",
		Short: "Fit the shipped confidence to collections of several domains",
		Long: `Asks each collection its own questions, the same without the passages that
answer, questions of the other domains in its language, and texts that ask
nothing, under the shipped gate, and fits the probability that the first passage
answers. The printed figures are leave-one-out. The result (shipped/confidence.yaml) serves
collections without a calibration, and is where calibrations start.`,
		Example: `  conclave-lab calibrate prior --collections wiki=c/wiki --questions wiki=wiki/dev.jsonl.gz \
    --collections policy=c/policy --questions policy=policy/dev.jsonl.gz --out shipped/confidence.yaml`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(
			term, func(cmd *cobra.Command, config configs.Config) error { return x.run(cmd, config, term) },
		),
	}
	x.bind(command, 300, 30)
	return command
}

// bind adds the flags to a command. questions is the default of --limit, the number of questions of each domain.
// foreign is the default of --foreign, the number of questions of each domain that are asked of the other collections.
func (x *fitPriorCommand) bind(command *cobra.Command, questions, foreign int) {
	flags := command.Flags()
	configs.AddFlags(flags, "bundles", "encoder.provider")
	x.questions.BindLimit(command, questions)
	flags.StringArrayVar(
		&x.collections,
		"collections",
		nil,
		"`NAME=FOLDER` of the collection of a domain; may be repeated",
	)
	flags.StringArrayVar(&x.near, "near", nil,
		"`NAME,NAME,...` of domains that may answer each other's questions, which are not asked there; may be repeated")
	flags.IntVar(&x.foreign, "foreign", foreign, "questions of each domain to ask of the other collections")
	flags.StringVar(&x.out, "out", "", "`file` to write (default: none)")
	_ = command.MarkFlagRequired("collections")
}

// run asks every domain's questions of its collection, fits the confidence to all answers and prints the figures. It
// writes the result to the file of --out, if one is named. It fails where there are fewer than three domains, a file of
// questions or a collection cannot be opened or asked, or the result is too poor to be shipped.
func (x *fitPriorCommand) run(cmd *cobra.Command, config configs.Config, term cli.Terminal) error {
	domains, generated, folders, err := x.readQuestions(cmd.Context(), config, term)
	if err != nil {
		return err
	}
	var answered []calibration.PriorQuestions
	for i, d := range domains {
		own := config
		own.Collection = folders[d.Name]
		a, err := x.askDomain(cmd.Context(), own, domains, generated, i, term)
		if err != nil {
			return fmt.Errorf("%s: %w", own.Collection, err)
		}
		answered = append(answered, a)
	}
	prior, all, err := calibration.FitPrior(answered)
	if err != nil {
		return err
	}
	if err := calibration.WritePriorText(term.Out, append(slices.Clone(prior.LeftOut), all)); err != nil {
		return err
	}
	if err := all.Shippable(); err != nil || x.out == "" {
		return err
	}
	return cli.WriteFile(x.out, prior.Write)
}

// readQuestions returns the questions of the domains in --questions, the questions generated from each domain's
// collection (Assembly.GenerateQuestions) in the same order, and the folder of each domain's collection by its name. It
// sets x.languages. It returns a usage error if there are fewer than two domains or one has no collection. It opens
// each collection for this, one after the other, and fails if one cannot be opened.
func (x *fitPriorCommand) readQuestions(
	ctx context.Context,
	config configs.Config,
	term cli.Terminal,
) (domains, generated []questions.Domain, folders map[string]string, err error) {
	folders, err = questions.ByName("collections", x.collections)
	if err != nil {
		return nil, nil, nil, cli.UsageError{Err: err}
	}
	domains, err = x.questions.Read()
	if err != nil {
		return nil, nil, nil, err
	}
	if len(domains) < 2 {
		return nil, nil, nil, cli.Usagef(
			"%s of questions: two are needed at least, so that each is measured by a fit without it",
			cli.Plural(int64(len(domains)), "domain"),
		)
	}
	generated = make([]questions.Domain, len(domains))
	x.languages = map[string][]string{}
	for i, d := range domains {
		folder, ok := folders[d.Name]
		if !ok {
			return nil, nil, nil, cli.Usagef("there is no collection for the questions %q: write --collections %s=FOLDER", d.Name, d.Name)
		}
		own := config
		own.Collection = folder
		err := cli.OpenForMeasuring(own, term, true, func(l *assembly.Assembly) (err error) {
			generated[i], err = l.GenerateQuestions(ctx)
			generated[i].Name = d.Name
			if err == nil {
				x.languages[d.Name], err = languagesOf(ctx, l)
			}
			return err
		})
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%s: %w", folder, err)
		}
	}
	return domains, generated, folders, nil
}

// sampledPassages is how many passages tell the languages of a collection.
const sampledPassages = 200

// languagesOf returns the codes of the languages of a collection's passages, told from sampledPassages of them at most,
// the most frequent first; nil if these are too short. It fails if the passages cannot be read.
func languagesOf(ctx context.Context, l *assembly.Assembly) ([]string, error) {
	sample, err := l.Engine.Sample(ctx, search.Caller{}, sampledPassages)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(sample))
	for i, p := range sample {
		texts[i] = languages.TellingPart(p.Title, p.Text)
	}
	return languages.Of(texts), nil
}

// askDomain opens the collection of domains[at], which config names, without its calibration, and asks it the questions
// of all domains and those generated from each, in the same order, without those that are not asked of this one
// (withoutUnasked, gatherEvidence). It returns the answers under the shipped gate, for FitPrior. It fails if the
// collection cannot be opened, lacks the shipped gate or the passages that answer its questions, or a search fails.
func (x *fitPriorCommand) askDomain(
	ctx context.Context,
	config configs.Config,
	domains, generated []questions.Domain,
	at int,
	term cli.Terminal,
) (out calibration.PriorQuestions, err error) {
	domains, generated, at = x.withoutUnasked(domains, generated, at)
	err = cli.OpenForMeasuring(config, term, true, func(l *assembly.Assembly) error {
		found, err := x.gatherEvidence(ctx, l, domains, generated, at, term)
		if err != nil {
			return err
		}
		shipped := l.LineUp().Defaults
		out, err = found.PriorQuestions(domains[at].Name, shipped.Gate, shipped.GateWithoutLate, shipped.Specialists)
		return err
	})
	return out, err
}

// gatherEvidence asks the collection of domains[at] four kinds of questions and returns what each source answered: its
// own, those of the other domains, which nothing in it answers, texts that ask nothing, and the generated ones. It
// fails if a search does, or if no passage that answers its own questions is in the collection.
func (x *fitPriorCommand) gatherEvidence(
	ctx context.Context,
	l *assembly.Assembly,
	domains, generated []questions.Domain,
	at int,
	term cli.Terminal,
) (*calibration.Evidence, error) {
	return cli.Gather(
		ctx,
		l,
		[]questions.Domain{
			domains[at],
			questions.Foreign(domains, at, x.foreign),
			questions.Nonsense(),
			besideQuestions(generated, at, x.foreign),
		},
		term,
	)
}

// besideQuestions returns the questions generated from the collection at an index, and at most foreign of those
// generated from each other collection, which nothing in this one answers.
func besideQuestions(generated []questions.Domain, at, foreign int) questions.Domain {
	all := slices.Concat(generated[at].Questions, questions.Foreign(generated, at, foreign).Questions)
	return questions.NewDomain(questions.GeneratedDomain, all, 0)
}

// withoutUnasked returns the domains, and the questions generated from each, without those whose questions are not
// asked of the collection of domains[at] (isAsked), and the index that domains[at] has among them. It leaves its
// arguments as they are.
func (x *fitPriorCommand) withoutUnasked(
	domains, generated []questions.Domain,
	at int,
) (others, othersGenerated []questions.Domain, place int) {
	name := domains[at].Name
	unasked := func(d questions.Domain) bool { return d.Name != name && !x.isAsked(d.Name, name) }
	others = slices.DeleteFunc(slices.Clone(domains), unasked)
	othersGenerated = slices.DeleteFunc(slices.Clone(generated), unasked)
	return others, othersGenerated, slices.IndexFunc(others, func(d questions.Domain) bool { return d.Name == name })
}

// isAsked reports whether questions of domain a are asked of the collection of domain b, which does not answer them:
// unless a --near flag names both, or their passages have no language in common, where both are known. Answers to
// questions in another language than the passages are not judged by what is fitted.
func (x *fitPriorCommand) isAsked(a, b string) bool {
	near := slices.ContainsFunc(x.near, func(list string) bool {
		names := strings.Split(list, ",")
		return slices.Contains(names, a) && slices.Contains(names, b)
	})
	known := len(x.languages[a]) > 0 && len(x.languages[b]) > 0
	inB := func(code string) bool { return slices.Contains(x.languages[b], code) }
	return !near && (!known || slices.ContainsFunc(x.languages[a], inB))
}
