package cli

import (
	"errors"

	"example.org/conclave/internal/corpus"

	"github.com/spf13/pflag"
)

// Inputs collects --in and --id-prefix in the order in which they stand on the command line: a prefix belongs to the
// next --in only. The zero value is ready for Bind.
type Inputs struct {
	Files   []corpus.Input // paths and prefixes
	Columns corpus.Columns // of tables
	prefix  string
	pending bool // a prefix waits for its --in
}

// Bind adds the flags --in and --id-prefix to a command. Each --in adds to x.Files, with the prefix before it.
func (x *Inputs) Bind(flags *pflag.FlagSet) {
	flags.Func("in", "`file`, folder or address of a website (https://…) to read, '-' for standard input; may be repeated", func(path string) error {
		if path == "" {
			return errors.New("a file is needed")
		}
		x.Files = append(x.Files, corpus.Input{Path: path, IDPrefix: x.prefix})
		x.prefix, x.pending = "", false
		return nil
	})
	flags.Func("id-prefix", "`text` to put in front of the ids of the next --in", func(prefix string) error {
		if x.pending {
			return errors.New("there are two prefixes for one --in")
		}
		x.prefix, x.pending = prefix, true
		return nil
	})
}

// BindColumns adds the flags --id-column, --text-column and --title-column, which set x.Columns.
func (x *Inputs) BindColumns(flags *pflag.FlagSet) {
	flags.StringVar(&x.Columns.ID, "id-column", "", "`name` of the column of a CSV or TSV that has the ids (default: id)")
	flags.StringVar(
		&x.Columns.Text,
		"text-column",
		"",
		"`name` of the column of a CSV or TSV that has the texts (default: text)",
	)
	flags.StringVar(
		&x.Columns.Title,
		"title-column",
		"",
		"`name` of the column of a CSV or TSV that has the titles (default: title, if there is one)",
	)
}

// Check returns a usage error if an --id-prefix has no --in after it. It does not open the files.
func (x *Inputs) Check() error {
	if x.pending {
		return Usagef("--id-prefix %q has to stand before the --in that it is for", x.prefix)
	}
	return nil
}
