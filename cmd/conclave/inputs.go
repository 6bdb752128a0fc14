package main

import (
	"errors"

	"example.org/conclave/internal/corpus"

	"github.com/spf13/pflag"
)

// inputs collects --in and --id-prefix in the order in which they stand on the
// command line: a prefix belongs to the next --in only.
type inputs struct {
	files   []corpus.Input // paths and prefixes
	columns corpus.Columns // of tables
	prefix  string
	armed   bool // a prefix waits for its --in
}

// bind adds both flags to a command.
func (x *inputs) bind(flags *pflag.FlagSet) {
	flags.Func("in", "`file` or BEIR folder to read, '-' for standard input; may be repeated", func(path string) error {
		if path == "" {
			return errors.New("a file is needed")
		}
		x.files = append(x.files, corpus.Input{Path: path, IDPrefix: x.prefix})
		x.prefix, x.armed = "", false
		return nil
	})
	flags.Func("id-prefix", "`text` to put in front of the ids of the next --in", func(prefix string) error {
		if x.armed {
			return errors.New("there are two prefixes for one --in")
		}
		x.prefix, x.armed = prefix, true
		return nil
	})
}

// bindColumns adds the flags that name the columns of tables.
func (x *inputs) bindColumns(flags *pflag.FlagSet) {
	flags.StringVar(&x.columns.ID, "id-column", "", "`name` of the column of a CSV or TSV that has the ids (default: id)")
	flags.StringVar(&x.columns.Text, "text-column", "", "`name` of the column of a CSV or TSV that has the texts (default: text)")
	flags.StringVar(&x.columns.Title, "title-column", "", "`name` of the column of a CSV or TSV that has the titles (default: title, if there is one)")
}

// check reports a prefix that no --in follows.
func (x *inputs) check() error {
	if x.armed {
		return usagef("--id-prefix %q has to stand before the --in that it is for", x.prefix)
	}
	return nil
}
