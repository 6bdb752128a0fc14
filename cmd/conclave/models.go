package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
			if len(folders) == 0 {
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
			return listBundles(term, folders, asJSON)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "for programs")
	return command
}

func listBundles(term terminal, folders []string, asJSON bool) error {
	type line struct {
		Name        string `json:"name"`
		Folder      string `json:"folder"`
		Dimension   int    `json:"dimension,omitempty"`
		Precision   string `json:"precision,omitempty"`
		Members     int    `json:"ensemble_members,omitempty"`
		Calibrated  bool   `json:"calibrated,omitempty"`
		Fingerprint string `json:"fingerprint,omitempty"`
		Error       string `json:"error,omitempty"`
	}
	lines := []line{}
	for _, folder := range folders {
		listed, err := models.List(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, l := range listed {
			if l.Err != nil {
				lines = append(lines, line{Name: filepath.Base(l.Dir), Folder: l.Dir, Error: l.Err.Error()})
				continue
			}
			m := l.Bundle.Manifest
			out := line{Name: m.Name, Folder: l.Dir, Dimension: m.Dimension, Precision: m.Precision,
				Calibrated: l.Bundle.Calibration != nil, Fingerprint: l.Bundle.Fingerprint(models.Passage)}
			if m.Ensemble != nil {
				out.Members = m.Ensemble.Members
			}
			lines = append(lines, out)
		}
	}
	if asJSON {
		return json.NewEncoder(term.Out).Encode(lines)
	}
	if len(lines) == 0 {
		_, err := fmt.Fprintf(term.Out, "no bundles in %v: `conclave setup` makes the base encoder, `conclave models import` others\n", folders)
		return err
	}
	w := tabwriter.NewWriter(term.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tDIMENSION\tPRECISION\tENSEMBLE\tCALIBRATED\tFINGERPRINT\tFOLDER")
	for _, l := range lines {
		if l.Error != "" {
			_, _ = fmt.Fprintf(w, "%s\t\t\t\t\t\t%s: %s\n", l.Name, l.Folder, l.Error)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%v\t%.12s\t%s\n", l.Name, l.Dimension, l.Precision, l.Members, l.Calibrated, l.Fingerprint, l.Folder)
	}
	return w.Flush()
}

func newModelsVerify(term terminal) *cobra.Command {
	return &cobra.Command{
		Use:     "verify BUNDLE…",
		Short:   "Check every file of bundles against their manifests",
		Example: "  conclave models verify experts/health",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, folders []string) error {
			failed := false
			for _, folder := range folders {
				b, err := models.Load(folder)
				if err != nil {
					failed = true
					_, _ = fmt.Fprintf(term.Err, "%v\n", err)
					continue
				}
				if _, err := fmt.Fprintf(term.Out, "%s: %s, %d files, fingerprint %.12s: fine\n", folder, b.Manifest.Name, len(b.Manifest.Files), b.Fingerprint(models.Passage)); err != nil {
					return err
				}
			}
			if failed {
				return errSilent
			}
			return nil
		},
	}
}
