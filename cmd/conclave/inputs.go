package main

import (
	"fmt"
	"strings"

	"conclave/corpus"

	"github.com/spf13/pflag"
)

// inputs collects --in and --id-prefix in the order in which they stand on the
// command line: a prefix belongs to the next --in only.
type inputs struct {
	files  []corpus.Input // paths and prefixes
	prefix string
	armed  bool // a prefix waits for its --in
}

// bind adds both flags to a command.
func (x *inputs) bind(flags *pflag.FlagSet) {
	flags.Var(inFlag{x}, "in", "`file` or BEIR folder to read, '-' for standard input; may be repeated")
	flags.Var(prefixFlag{x}, "id-prefix", "`text` to put in front of the ids of the next --in")
}

// check reports a prefix that no --in follows.
func (x *inputs) check() error {
	if x.armed {
		return usagef("--id-prefix %q has to stand before the --in that it is for", x.prefix)
	}
	return nil
}

type inFlag struct{ *inputs }

func (f inFlag) Set(path string) error {
	if path == "" {
		return fmt.Errorf("a file is needed")
	}
	f.files = append(f.files, corpus.Input{Path: path, IDPrefix: f.prefix})
	f.prefix, f.armed = "", false
	return nil
}

func (f inFlag) String() string {
	if f.inputs == nil {
		return ""
	}
	var paths []string
	for _, file := range f.files {
		paths = append(paths, file.Path)
	}
	return strings.Join(paths, ",")
}

func (inFlag) Type() string { return "file" }

type prefixFlag struct{ *inputs }

func (f prefixFlag) Set(prefix string) error {
	if f.armed {
		return fmt.Errorf("there are two prefixes for one --in")
	}
	f.prefix, f.armed = prefix, true
	return nil
}

func (f prefixFlag) String() string { return "" }

func (prefixFlag) Type() string { return "text" }
