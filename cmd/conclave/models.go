package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
				config, err := settings(cmd, term)
				if err != nil {
					return err
				}
				cache, err := cacheOf(config)
				if err != nil {
					return err
				}
				folders = []string{config.Bundles, filepath.Dir(cache.Bundle("x"))}
			}
			return listBundles(term, folders, optional, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return command
}

// listed is a line of the list.
type listed struct {
	Name        string `json:"name"`
	Folder      string `json:"folder"`
	Dimension   int    `json:"dimension,omitempty"`
	Precision   string `json:"precision,omitempty"`
	Delta       bool   `json:"delta,omitempty"` // to be merged with its base first
	Members     int    `json:"ensemble_members,omitempty"`
	Calibrated  bool   `json:"calibrated,omitempty"`
	Familiarity bool   `json:"representatives,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Error       string `json:"error,omitempty"`
}

func listBundles(term terminal, folders []string, optional, asJSON bool) error {
	lines := []listed{}
	for _, folder := range folders {
		all, err := models.List(folder)
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, l := range all {
			lines = append(lines, listing(l))
		}
	}
	if asJSON {
		return json.NewEncoder(term.Out).Encode(lines)
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintf(term.Out, "no bundles in %s: `conclave setup` makes the base encoder, `conclave models import` others\n", strings.Join(folders, " or "))
		return err
	}
	w := tabwriter.NewWriter(term.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tDIMENSION\tPRECISION\tENSEMBLE\tCALIBRATED\tFINGERPRINT\tFOLDER")
	for _, l := range lines {
		if l.Error != "" {
			_, _ = fmt.Fprintf(w, "%s\t\t\t\t\t\t%s: %s\n", l.Name, l.Folder, l.Error)
			continue
		}
		precision := l.Precision
		if l.Delta {
			precision = "delta"
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%v\t%.12s\t%s\n", l.Name, l.Dimension, precision, l.Members, l.Calibrated, l.Fingerprint, l.Folder)
	}
	return w.Flush()
}

func listing(l models.Listed) listed {
	if l.Err != nil {
		return listed{Name: filepath.Base(l.Dir), Folder: l.Dir, Error: l.Err.Error()}
	}
	m := l.Bundle.Manifest
	out := listed{
		Name: m.Name, Folder: l.Dir, Dimension: m.Dimension, Precision: m.Precision, Delta: m.Delta != "",
		Calibrated: l.Bundle.Calibration != nil, Familiarity: m.Representatives != "", Fingerprint: l.Bundle.Fingerprint(models.Passage),
	}
	if m.Ensemble != nil {
		out.Members = m.Ensemble.Members
	}
	return out
}
