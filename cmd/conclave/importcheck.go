package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// checkImported returns an *encoder.DoubtError if a new bundle b, made from the folder from, is probably not used as
// the expert was trained. Only the tokenizer is checked for bundles that are not dense, for trained deltas, which say
// how they are used, and, with a note on the terminal, if ONNX Runtime is not installed. It makes further bundles of
// the same checkpoint in a temporary folder beside b, and removes that in any case.
func (x *importCommand) checkImported(
	ctx context.Context,
	from string,
	b *models.Bundle,
	config configs.Config,
	cache provision.Cache,
	term cli.Terminal,
) error {
	if b.Manifest.Kind != models.KindDense || b.Manifest.Lineage.MergedFrom != "" {
		return encoder.CheckTokenizer(b)
	}
	runtime, err := installedRuntime(config, cache, term)
	if err != nil || runtime == nil {
		return errors.Join(err, encoder.CheckTokenizer(b))
	}
	folder, err := os.MkdirTemp(filepath.Dir(b.Dir), ".check-*")
	if err != nil {
		return errors.Join(err, runtime.Close())
	}
	defer func() { _ = os.RemoveAll(folder) }()
	another := func(pooling string) (*models.Bundle, error) {
		o := x.options
		o.Pooling, o.Check, o.Tell = pooling, nil, nil
		return convert.Import(ctx, from, filepath.Join(folder, pooling), o)
	}
	v := b.Manifest.Vectors
	if v == nil || v.Pooling == models.PoolingGraph || v.Template == models.TemplatePair {
		another = nil // the graph's own, and DPR's is known
	}
	return errors.Join(runtime.CheckImported(ctx, b, another), runtime.Close())
}
