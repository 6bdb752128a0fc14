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

// checkImported returns a *encoder.DoubtError for a bundle, made from the folder from, of an
// expert that is probably not used as it was trained. A trained delta, which says how it is
// used, is not looked at. Without ONNX Runtime the tokenizer alone is, and that is said.
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
