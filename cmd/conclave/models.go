package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"conclave/models"

	"github.com/spf13/cobra"
)

func newModels(term terminal) *cobra.Command {
	command := &cobra.Command{
		Use:   "models",
		Short: "Import, list and verify bundles",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(newModelsImport(term), newModelsList(term), newModelsVerify(term))
	return command
}

func newModelsList(term terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list [FOLDER…]",
		Short:   "List the bundles in the folder of bundles and in the cache",
		Example: "  conclave models list\n  conclave models list experts --json",
		RunE: func(cmd *cobra.Command, folders []string) error {
			optional := len(folders) == 0
			if optional {
				config, cache, err := settingsAndCache(cmd, term)
				if err != nil {
					return err
				}
				folders = []string{config.Bundles, filepath.Dir(cache.Bundle("x"))}
			}
			return listBundles(term, folders, optional, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func listBundles(term terminal, folders []string, optional, asJSON bool) error {
	lines := []models.Listed{}
	for _, folder := range folders {
		all, err := models.List(folder)
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		lines = append(lines, all...)
	}
	return show(term.Out, asJSON, lines, func(w *errWriter) {
		if len(lines) == 0 {
			w.printf("no bundles in %s: `conclave setup` makes the base encoder, `conclave models import` others\n", strings.Join(folders, " or "))
		}
		printBundles(w, lines)
	})
}

// printBundles lists each folder's bundles under its name: what to type first. A
// bundle whose name is in an earlier folder, too, is not the one that is found
// by it, and is named below.
func printBundles(w *errWriter, lines []models.Listed) {
	seen := map[string]bool{}
	for len(lines) > 0 {
		folder := filepath.Dir(lines[0].Folder)
		n := slices.IndexFunc(lines, func(l models.Listed) bool { return filepath.Dir(l.Folder) != folder })
		if n < 0 {
			n = len(lines)
		}
		w.printf("%s:\n", folder)
		table := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "  NAME\tPRECISION\tNUMBERS\tENSEMBLE\tCALIBRATED\tFINGERPRINT")
		var hidden, broken []string
		for _, l := range lines[:n] {
			switch {
			case l.Error != "":
				broken = append(broken, fmt.Sprintf("  %s: %s", l.Name, l.Error))
				continue
			case seen[l.Name]:
				hidden = append(hidden, l.Name)
				continue
			case l.Delta: // what was merged from it is found by its name
				_, _ = fmt.Fprintf(table, "  %s\tdelta\t%d\t%d\t%s\t%.12s\n", filepath.Join(folder, l.Name), l.Dimension, l.Members, yes(l.Calibrated), l.Fingerprint)
				continue
			}
			seen[l.Name] = true
			_, _ = fmt.Fprintf(table, "  %s\t%s\t%d\t%d\t%s\t%.12s\n", l.Name, l.Precision, l.Dimension, l.Members, yes(l.Calibrated), l.Fingerprint)
		}
		w.err = errors.Join(w.err, table.Flush())
		for _, line := range broken {
			w.printf("%s\n", line)
		}
		if len(hidden) > 0 {
			w.printf("  not used, since the folder above has them: %s\n", strings.Join(hidden, ", "))
		}
		lines = lines[n:]
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
