package main

import (
	"errors"
	"fmt"
	"io"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"

	"github.com/spf13/cobra"
)

// newModelsVerify returns the command `conclave models verify`, which compares every file of bundles with their
// manifests.
func newModelsVerify(term cli.Terminal) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "verify BUNDLE…",
		Short: "Check every file of bundles against their manifests",
		Long: `Compares every file with the SHA-256 in the manifest, and the contents of the
graphs, the ensemble, the representatives and the delta with what the manifest
says. Then each bundle is opened as a server would open it; without ONNX Runtime
(conclave setup) its tokenizer alone is. Whether a delta fits its base is checked when
it is imported.`,
		Example: "  conclave models verify experts/health\n  conclave models verify experts/*/ --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, folders []string) (err error) {
			config, cache, err := cli.ReadSettingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			quiet := term
			if asJSON {
				quiet.Err = io.Discard // what is printed is one document
			}
			runtime, err := installedRuntime(config, cache, quiet)
			if err != nil {
				return err
			}
			if runtime != nil {
				defer func() { err = errors.Join(err, runtime.Close()) }()
			}
			all := make([]convert.VerifiedBundle, len(folders))
			var failed error
			for i, folder := range folders {
				all[i] = convert.Verify(folder)
				if all[i].Fine {
					all[i] = tryBundle(all[i], runtime)
				}
				if !all[i].Fine {
					failed = cli.ErrSilent
				}
			}
			return errors.Join(
				failed, cli.Show(term.Out, asJSON, all, func(w *cli.ErrWriter) { printVerified(w, term.Err, all) }),
			)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// installedRuntime opens ONNX Runtime. If it is not installed, it returns nil without an error, and writes a note to
// the terminal. Otherwise the caller closes the runtime.
func installedRuntime(config configs.Config, cache provision.Cache, term cli.Terminal) (*encoder.Runtime, error) {
	library, err := experts.RuntimeLibrary(config, cache)
	var missing *provision.MissingError
	if errors.As(err, &missing) {
		_, err = fmt.Fprintf(term.Err, "note: graphs are not loaded, since %v (conclave setup)\n", err)
		return nil, err
	} else if err != nil {
		return nil, err
	}
	return encoder.OpenRuntime(library)
}

// tryBundle opens a bundle whose files are whole as a server would, and returns v, or the error in its place. Without a
// runtime it opens only the tokenizer.
func tryBundle(v convert.VerifiedBundle, runtime *encoder.Runtime) convert.VerifiedBundle {
	b, err := models.Peek(v.Folder)
	if err == nil {
		err = encoder.CheckTokenizer(b)
	}
	if err == nil && runtime != nil {
		err = runtime.Try(b)
	}
	if err != nil {
		return convert.VerifiedBundle{
			Folder: v.Folder,
			Error:  fmt.Sprintf("bundle %s: its files are whole, and it cannot be opened: %v", v.Folder, err),
		}
	}
	return v
}

// printVerified writes a line for each bundle: to w if it is fine, and to complaints if it is not. Errors of writing to
// w are in w.Err; those of complaints are ignored.
func printVerified(w *cli.ErrWriter, complaints io.Writer, all []convert.VerifiedBundle) {
	for _, v := range all {
		switch {
		case !v.Fine:
			_, _ = fmt.Fprintf(complaints, "%s\n", v.Error)
		case v.Delta:
			w.Printf("%s: %s, a delta, %d files, SHA-256 of the delta %.12s: fine\n", v.Folder, v.Name, v.Files, v.Fingerprint)
		default:
			w.Printf("%s: %s, %d files, fingerprint %.12s: fine\n", v.Folder, v.Name, v.Files, v.Fingerprint)
		}
	}
}
