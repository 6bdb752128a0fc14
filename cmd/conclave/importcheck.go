package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"conclave/configs"
	"conclave/encoder"
	"conclave/models"
	"conclave/provision"
	"conclave/serving"
)

// checkImported returns a *encoder.DoubtError for a bundle, made from the folder from, of an
// expert that is probably not used as it was trained. A trained delta, which says how it is
// used, is not looked at. Without ONNX Runtime nothing is checked, and that is said.
func (x *importing) checkImported(ctx context.Context, from string, b *models.Bundle, config configs.Config, cache provision.Cache, term terminal) error {
	if b.Manifest.Kind != models.KindDense || b.Manifest.Lineage.MergedFrom != "" {
		return nil
	}
	library, err := serving.RuntimeLibrary(config, cache)
	var missing *provision.MissingError
	if errors.As(err, &missing) {
		_, err = fmt.Fprintf(term.Err, "note: whether the expert tells paraphrases from unrelated texts was not checked, since %v (conclave setup)\n", err)
		return err
	} else if err != nil {
		return err
	}
	runtime, err := encoder.OpenRuntime(library)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(b.Dir), ".check-*")
	if err != nil {
		return errors.Join(err, runtime.Close())
	}
	defer func() { _ = os.RemoveAll(folder) }()
	another := func(pooling string) (*models.Bundle, error) {
		o := x.options
		o.Pooling, o.Check, o.Tell = pooling, nil, nil
		return models.Import(ctx, from, filepath.Join(folder, pooling), o)
	}
	if b.Manifest.Pooling == models.PoolingGraph || b.Manifest.Template == models.TemplatePair {
		another = nil // the graph's own, and DPR's is known
	}
	return errors.Join(runtime.CheckImported(ctx, b, another), runtime.Close())
}
