package main

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// askCommand is what `conclave search` was asked.
type askCommand struct {
	server    serverFlags
	request   search.Request
	fusion    string
	experts   string
	filter    string
	noWords   bool
	noLate    bool
	asTyped   bool
	allCopies bool
	asJSON    bool
	before    []string
}

// newSearch returns the command `conclave search`, which searches a collection, or asks a server.
func newSearch(terminal cli.Terminal) *cobra.Command {
	var x askCommand
	command := &cobra.Command{
		Use:   "search QUESTION",
		Short: "Search a collection, or ask a server, from the terminal",
		Example: `  conclave search --collection my-index "how long may I keep cooked rice?"
  CONCLAVE_KEY=… conclave search --url https://search.example.org "who bought the lighthouse"
  conclave search --url http://127.0.0.1:8080 -k 3 --fusion hybrid "who bought the lighthouse"
  conclave search --collection my-index --tags-all 2024,law "who has to be asked first"
  conclave search --collection my-index --filter '{"field": "year", "gte": 2023}' "who has to be asked first"
  conclave search --collection my-index '"cast iron" pans -induction'
  conclave search --collection my-index --answer "how long do refunds take?"
  conclave search --collection my-index --before "how long do refunds take?" "and for tickets?"
  conclave search --collection my-index --fusion rrf,hybrid --json "…" | jq .rankings`,
		Args: cobra.MinimumNArgs(1),
		RunE: cli.WithSettings(terminal, func(cmd *cobra.Command, config configs.Config) error {
			if err := x.checkFlags(cmd.Flags()); err != nil {
				return err
			}
			x.completeRequest(strings.Join(cmd.Flags().Args(), " "))
			response, err := x.ask(cmd, config, terminal)
			if err != nil {
				return err
			}
			if x.asJSON {
				return cli.EncodeIndented(terminal.Out, response)
			}
			return printAnswer(terminal.Out, response, min(cli.Columns(terminal.Out), 120))
		}),
	}
	flags := command.Flags()
	configs.AddFlags(flags, "collection", "store", "bundles", "encoder.provider")
	x.server.bindFlags(flags)
	flags.IntVarP(&x.request.K, "k", "k", 5, "passages to show")
	flags.StringVar(&x.fusion, "fusion", "", "fusion method, or several separated by commas")
	flags.StringVar(&x.experts, "experts", "", "experts to ask, separated by commas; none for words only")
	flags.IntVar(
		&x.request.Specialists, "specialists", 0,
		"how many experts with a domain to ask, the most familiar with the question (default: as calibrated)",
	)
	flags.StringArrayVar(&x.before, "before", nil,
		"`question` that was asked before, where this one does not stand alone; may be repeated, the last one last")
	flags.BoolVar(&x.noWords, "no-bm25", false, "leave BM25 out")
	flags.BoolVar(&x.noLate, "no-late", false, "leave late interaction out")
	flags.StringArrayVar(&x.request.Must, "must", nil, "only passages with this `word` or phrase; may be repeated")
	flags.StringArrayVar(
		&x.request.MustNot,
		"must-not",
		nil,
		"only passages without this `word` or phrase; may be repeated",
	)
	flags.BoolVar(&x.allCopies, "all-copies", false, "show every one of several passages with the same text")
	flags.BoolVar(&x.asTyped, "as-typed", false, "search for mistyped words as they are")
	flags.BoolVar(&x.request.Answer.Wanted, "answer", false, "mark the words that answer, too")
	flags.StringSliceVar(&x.request.Filter.TagsAll, "tags-all", nil, "only passages with all of these `tags`")
	flags.StringSliceVar(&x.request.Filter.TagsAny, "tags-any", nil, "only passages with at least one of these `tags`")
	flags.StringVar(&x.filter, "filter", "",
		`only passages that meet a `+"`condition`"+` in JSON, such as {"field": "price", "gte": 10, "lt": 20}`)
	flags.IntVar(&x.request.Candidates, "candidates", 0, "hits of each source")
	flags.BoolVar(&x.request.Exact, "exact", false, "compare with every vector instead of using the graph")
	flags.BoolVar(&x.request.Explain, "explain", false, "with --json: the terms of each BM25 score")
	flags.IntVar(&x.request.TimeoutMS, "timeout-ms", 0, "time limit of the sources, in milliseconds")
	flags.BoolVar(&x.asJSON, "json", false, "print the whole answer as JSON, as the API returns it")
	return command
}

// checkFlags returns a usage error if flags contradict each other or have an impossible value, and sets the request's
// filter.
func (x *askCommand) checkFlags(flags *pflag.FlagSet) error {
	if err := x.server.checkFlags(flags); err != nil {
		return err
	}
	if err := parseFilter(x.filter, &x.request.Filter); err != nil {
		return err
	}
	for name, value := range map[string]int{"k": x.request.K, "candidates": x.request.Candidates, "specialists": x.request.Specialists, "timeout-ms": x.request.TimeoutMS} {
		if flags.Changed(name) && value < 1 {
			return cli.Usagef("--%s is %d: it has to be at least 1", name, value)
		}
	}
	return nil
}

// parseFilter reads a filter in JSON into into. "" leaves it as it is. It returns a usage error if the text is not one
// valid filter. into is undefined after an error.
func parseFilter(text string, into *storage.Filter) error {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("something follows its end")
	}
	if err != nil {
		return cli.Usagef("--filter is no condition in JSON: %v", err)
	}
	if err := into.Check(); err != nil {
		return cli.Usagef("--filter: %v", err)
	}
	return nil
}

// completeRequest sets the request's question and options from the typed question and the flags: phrases in quotes and
// words after - or NOT become must and must_not, and --before makes it a conversation.
func (x *askCommand) completeRequest(question string) {
	question, must, mustNot := ask.Typed(question)
	asked := search.Ask(question, x.before)
	x.request.Question = asked.Question
	x.request.Messages = asked.Messages
	x.request.Must, x.request.MustNot = append(x.request.Must, must...), append(x.request.MustNot, mustNot...)
	if x.fusion != "" {
		names := strings.Split(x.fusion, ",")
		x.request.Fusion = search.Methods{Names: names, Listed: len(names) > 1}
	}
	if x.experts != "" {
		names := []string{}
		if x.experts != "none" {
			names = strings.Split(x.experts, ",")
		}
		x.request.Experts = &names
	}
	if x.noWords {
		x.request.BM25 = new(false)
	}
	if x.allCopies {
		x.request.Collapse = new(false)
	}
	if x.asTyped {
		x.request.Correct = new(false)
	}
	if x.noLate {
		x.request.Late = new(false)
	}
}

// ask returns the answer to the request: of the server at --url, if that is set, otherwise of the configured
// collection. It fails if the server refuses the request, or the collection cannot be opened or searched; a collection
// is closed again.
func (x *askCommand) ask(
	cmd *cobra.Command,
	config configs.Config,
	terminal cli.Terminal,
) (response reply.Response, err error) {
	if x.server.url != "" {
		return x.server.search(cmd.Context(), terminal.Environ, x.request)
	}
	err = cli.OpenCollection(config, terminal, false, func(l *assembly.Assembly) (err error) {
		response, err = l.Engine.Search(cmd.Context(), search.Caller{}, x.request)
		return err
	})
	return response, err
}
