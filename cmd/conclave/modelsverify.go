package main

import (
	"errors"
	"fmt"
	"io"

	"conclave/models"

	"github.com/spf13/cobra"
)

func newModelsVerify(term terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "verify BUNDLE…",
		Short: "Check every file of bundles against their manifests",
		Long: `Compares every file with the SHA-256 in the manifest, and the contents of the
graphs, the ensemble, the representatives and the delta with what the manifest
says. Whether a delta fits its base is checked when it is imported.`,
		Example: "  conclave models verify experts/health\n  conclave models verify experts/*/ --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, folders []string) error {
			all := make([]models.Verified, len(folders))
			var failed error
			for i, folder := range folders {
				if all[i] = models.Verify(folder); !all[i].Fine {
					failed = errSilent
				}
			}
			return errors.Join(failed, show(term.Out, asJSON, all, func(w *errWriter) { printVerified(w, term.Err, all) }))
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func printVerified(w *errWriter, complaints io.Writer, all []models.Verified) {
	for _, v := range all {
		switch {
		case !v.Fine:
			_, _ = fmt.Fprintf(complaints, "%s\n", v.Error)
		case v.Delta:
			w.printf("%s: %s, a delta, %d files, SHA-256 of the delta %.12s: fine\n", v.Folder, v.Name, v.Files, v.Fingerprint)
		default:
			w.printf("%s: %s, %d files, fingerprint %.12s: fine\n", v.Folder, v.Name, v.Files, v.Fingerprint)
		}
	}
}
