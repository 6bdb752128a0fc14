package main

import (
	"io"
	"log/slog"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/assembly"
)

// printNext opens the collection as a search would, and writes which method "auto" stands for and what would improve
// its answers. If the collection cannot be opened, it writes the reason and hints. The only error is that of writing.
func printNext(config configs.Config, out io.Writer) error {
	w := &cli.ErrWriter{Out: out}
	l, err := assembly.Open(
		assembly.Options{Config: config, Log: slog.New(slog.DiscardHandler), Observer: cli.FailureWriter{Out: out}},
	)
	if err == nil {
		printImprovements(l, w, config.Collection)
		err = l.Close()
	}
	if err != nil {
		w.Printf("it cannot be searched yet: %v\n", err)
		for _, hint := range cli.Hints(err) {
			w.Printf("  -> %s\n", hint)
		}
	}
	return w.Err
}

// printImprovements writes which method "auto" stands for, and each improvement with the command that makes it.
func printImprovements(l *assembly.Assembly, w *cli.ErrWriter, folder string) {
	w.Printf("auto is %s\n", l.Auto())
	for _, better := range l.Improvements() {
		switch len(better.Experts) {
		case 0:
			w.Printf("next: %s\n      conclave calibrate --collection %s --questions FILE\n", better.Why, folder)
		case 1:
			w.Printf("next: %s\n      conclave index --collection %s --add-expert %s\n", better.Why, folder, better.Experts[0])
		default:
			w.Printf(
				"next: %s:\n      %s\n      conclave index --collection %s --add-expert NAME\n", better.Why,
				strings.Join(better.Experts, ", "), folder,
			)
		}
	}
}
