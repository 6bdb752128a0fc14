package main

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"conclave/questions"

	"github.com/spf13/cobra"
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
	flags := command.Flags()
	flags.StringArrayVar(&f.files, "questions", nil, "`[NAME=]FILE` of questions, or BEIR folder; may be repeated")
	flags.StringArrayVar(&f.qrels, "qrels", nil, "`[NAME=]FILE` of relevance judgements, for TREC topics")
	flags.StringArrayVar(&f.splits, "split", nil, "`[NAME=]SPLIT` of a BEIR folder, such as test")
	flags.StringVar(&f.format, "question-format", "auto", "format of the questions: "+strings.Join(questions.Formats(), ", "))
	_ = command.MarkFlagRequired("questions")
}

// bindLimit adds --limit, too.
func (f *questionFiles) bindLimit(command *cobra.Command, limit int) {
	f.bind(command)
	command.Flags().IntVar(&f.limit, "limit", limit, "questions of each domain at most, chosen by a hash of their ids; 0: all")
}

func (f *questionFiles) check() error {
	if !slices.Contains(questions.Formats(), f.format) {
		return usagef("--question-format is %q: %s are possible", f.format, strings.Join(questions.Formats(), ", "))
	}
	if f.limit < 0 {
		return usagef("--limit is %d: it has to be 0 or more", f.limit)
	}
	_, err := f.sources()
	return err
}

// sources joins each file with what was named for it.
func (f *questionFiles) sources() ([]questions.Source, error) {
	qrels, err := byName("--qrels", f.qrels)
	if err != nil {
		return nil, err
	}
	splits, err := byName("--split", f.splits)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{"": true}
	var out []questions.Source
	for _, file := range f.files {
		name, path := named(file)
		used[name] = true
		out = append(out, questions.Source{Path: path, Domain: name, Format: questions.Format(f.format),
			Judgements: cmp.Or(qrels[name], qrels[""]), Split: cmp.Or(splits[name], splits[""])})
	}
	for _, given := range []map[string]string{qrels, splits} {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !used[name] {
				return nil, usagef("there are no questions called %q: write --questions %s=FILE", name, name)
			}
		}
	}
	if qrels[""] != "" && len(out) > 1 {
		return nil, usagef("--qrels %s belongs to which questions? Write --qrels NAME=FILE", qrels[""])
	}
	return out, nil
}

// named splits NAME=FILE. The path of a file that exists is not split, even if it has
// a = in it.
func named(text string) (name, path string) {
	name, path, found := strings.Cut(text, "=")
	if !found || name == "" || strings.ContainsAny(name, `/\`) {
		return "", text
	}
	if _, err := os.Stat(text); err == nil {
		return "", text
	}
	return name, path
}

func byName(flag string, values []string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range values {
		name, value := named(text)
		if _, twice := out[name]; twice {
			return nil, usagef("%s is given twice for %q", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// read reads all files.
func (f *questionFiles) read() ([]questions.Domain, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	sources, err := f.sources()
	if err != nil {
		return nil, err
	}
	return questions.ReadDomains(sources, f.limit)
}
