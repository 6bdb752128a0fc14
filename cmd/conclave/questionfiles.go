package main

import (
	"slices"
	"strings"

	"example.org/conclave/internal/questions"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// questionFiles are the questions that were named, and what belongs to them by
// name.
type questionFiles struct {
	files         []string
	qrels, splits []string
	format        string
	limit         int // questions of a domain; 0: all
}

// bind adds the flags to a command, which needs questions.
func (f *questionFiles) bind(command *cobra.Command) {
	f.offer(command.Flags())
	_ = command.MarkFlagRequired("questions")
}

// offer adds the flags to those of a command that can do without questions.
func (f *questionFiles) offer(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.files, "questions", nil, "`[NAME=]FILE` of questions, or BEIR folder; may be repeated")
	flags.StringArrayVar(&f.qrels, "qrels", nil, "`[NAME=]FILE` of relevance judgements, for TREC topics")
	flags.StringArrayVar(&f.splits, "split", nil, "`[NAME=]SPLIT` of a BEIR folder, such as test")
	flags.StringVar(&f.format, "question-format", "auto", "format of the questions: "+strings.Join(questions.Formats(), ", "))
}

// bindLimit adds --limit, too.
func (f *questionFiles) bindLimit(command *cobra.Command, limit int) {
	f.bind(command)
	command.Flags().IntVar(&f.limit, "limit", limit, "questions of each domain at most, chosen by a hash of their ids; 0: all")
}

// sources checks the flags, and joins each file with what was named for it.
func (f *questionFiles) sources() ([]questions.Source, error) {
	if !slices.Contains(questions.Formats(), f.format) {
		return nil, usagef("--question-format is %q: %s are possible", f.format, strings.Join(questions.Formats(), ", "))
	}
	if f.limit < 0 {
		return nil, usagef("--limit is %d: it has to be 0 or more", f.limit)
	}
	all, err := questions.Named(f.files, f.qrels, f.splits, questions.Format(f.format))
	if err != nil {
		return nil, usageError{err}
	}
	return all, nil
}

// read reads all files.
func (f *questionFiles) read() ([]questions.Domain, error) {
	sources, err := f.sources()
	if err != nil {
		return nil, err
	}
	return questions.ReadDomains(sources, f.limit)
}
