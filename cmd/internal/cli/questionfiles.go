package cli

import (
	"slices"
	"strings"

	"example.org/conclave/internal/questions"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// QuestionFiles are the flags that name files of questions, with the relevance judgements and splits of each.
type QuestionFiles struct {
	Files         []string
	qrels, splits []string
	Format        string
	Limit         int // questions of a domain; 0: all
}

// Bind adds the flags --questions, --qrels, --split and --question-format to a command, and makes --questions required.
func (f *QuestionFiles) Bind(command *cobra.Command) {
	f.BindOptional(command.Flags())
	_ = command.MarkFlagRequired("questions")
}

// BindOptional adds the flags --questions, --qrels, --split and --question-format, none of them required.
func (f *QuestionFiles) BindOptional(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Files, "questions", nil, "`[NAME=]FILE` of questions, or BEIR folder; may be repeated")
	flags.StringArrayVar(&f.qrels, "qrels", nil, "`[NAME=]FILE` of relevance judgements, for TREC topics")
	flags.StringArrayVar(&f.splits, "split", nil, "`[NAME=]SPLIT` of a BEIR folder, such as test")
	flags.StringVar(
		&f.Format, "question-format", "auto", "format of the questions: "+strings.Join(questions.Formats(), ", "),
	)
}

// BindLimit adds the flags of Bind, and --limit with the default limit.
func (f *QuestionFiles) BindLimit(command *cobra.Command, limit int) {
	f.Bind(command)
	command.Flags().
		IntVar(&f.Limit, "limit", limit, "questions of each domain at most, chosen by a hash of their ids; 0: all")
}

// questionFiles returns the files of questions, each with its relevance judgements and split. It returns a usage error
// if a flag is invalid.
func (f *QuestionFiles) questionFiles() ([]questions.QuestionFile, error) {
	if !slices.Contains(questions.Formats(), f.Format) {
		return nil, Usagef(
			"--question-format is %q: it has to be one of %s", f.Format, strings.Join(questions.Formats(), ", "),
		)
	}
	if f.Limit < 0 {
		return nil, Usagef("--limit is %d: it has to be 0 or more", f.Limit)
	}
	all, err := questions.Named(f.Files, f.qrels, f.splits, questions.Format(f.Format))
	if err != nil {
		return nil, UsageError{Err: err}
	}
	return all, nil
}

// Read returns the questions of all files by domain, at most Limit of each. It fails if a flag is invalid or a file
// cannot be read. With no files it returns none.
func (f *QuestionFiles) Read() ([]questions.Domain, error) {
	sources, err := f.questionFiles()
	if err != nil {
		return nil, err
	}
	return questions.ReadDomains(sources, f.Limit)
}
