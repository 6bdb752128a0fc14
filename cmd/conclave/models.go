package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/models"

	"github.com/spf13/cobra"
)

// newModels returns the command `conclave models`, which has only subcommands.
func newModels(term cli.Terminal) *cobra.Command {
	return cli.Group(
		"models", "Import, list and verify bundles", newModelsImport(term), newModelsList(term), newModelsVerify(term),
	)
}

// newModelsList returns the command `conclave models list`, which lists the bundles of the named folders, or without
// names those of the folder of bundles and of the cache.
func newModelsList(term cli.Terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "list [FOLDER…]",
		Short:   "List the bundles in the folder of bundles and in the cache",
		Example: "  conclave models list\n  conclave models list experts --json",
		RunE: func(cmd *cobra.Command, folders []string) error {
			optional := len(folders) == 0
			if optional {
				config, cache, err := cli.ReadSettingsAndCache(cmd, term)
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

// listBundles writes the bundles in some folders as a table or as JSON. With optional, a folder that does not exist
// counts as empty; without, it is an error. Bundles that cannot be used are listed as such, and are no error.
func listBundles(term cli.Terminal, folders []string, optional, asJSON bool) error {
	lines := []models.ListedBundle{}
	for _, folder := range folders {
		all, err := models.List(folder)
		if err != nil && !(optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
		lines = append(lines, all...)
	}
	return cli.Show(term.Out, asJSON, lines, func(w *cli.ErrWriter) {
		if len(lines) == 0 {
			w.Printf(
				"no bundles in %s: `conclave setup` makes the base encoder, `conclave models import` others\n",
				strings.Join(folders, " or "),
			)
			return
		}
		printBundles(w, lines)
	})
}

// printBundles writes a table of bundles for each folder, and below it those that cannot be used. If several bundles
// have one name, only the first is listed and the others are named as hidden. A delta is listed by its folder. Errors
// of writing are in w.Err.
func printBundles(w *cli.ErrWriter, lines []models.ListedBundle) {
	table := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
	seen := map[string]bool{}
	folder := ""
	var broken, hidden []string
	for _, l := range lines {
		if at := filepath.Dir(l.Folder); at != folder {
			folder = at
			_, _ = fmt.Fprintf(table, "%s:\n  NAME\tPRECISION\tNUMBERS\tENSEMBLE\tCALIBRATED\tFINGERPRINT\n", folder)
		}
		switch {
		case l.Error != "":
			broken = append(broken, fmt.Sprintf("unusable: %s: %s\n", l.Folder, l.Error))
			continue
		case l.Delta:
			l.Name = l.Folder
			l.Precision = "delta"
		case seen[l.Name]:
			hidden = append(hidden, l.Name)
			continue
		}
		seen[l.Name] = true
		_, _ = fmt.Fprintf(
			table, "  %s\t%s\t%d\t%d\t%s\t%.12s\n", l.Name, l.Precision, l.Dimension, l.Members,
			map[bool]string{true: "yes", false: "no"}[l.Calibrated], l.Fingerprint,
		)
	}
	w.Err = errors.Join(w.Err, table.Flush())
	w.Printf("%s", strings.Join(broken, ""))
	if len(hidden) > 0 {
		w.Printf("not used, since a folder above has them: %s\n", strings.Join(hidden, ", "))
	}
}
