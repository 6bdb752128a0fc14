package shipped

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// ErrNoFolder is the error of an import that names no folder for its bundle, which a delta
// alone has by default.
var ErrNoFolder = errors.New("the folder of the bundle to make is not named")

// Import makes the bundle out of a checkpoint, of an exported ONNX, or of a delta, in the
// folder from. A delta is merged with the base that setup fetched, unless o names another;
// where out is "", its bundle goes into the cache, where it is found by name.
func Import(
	ctx context.Context,
	cache provision.Cache,
	from, out string,
	o convert.Options,
) (*models.Bundle, error) {
	delta, err := convert.OpenDelta(os.DirFS(from))
	switch {
	case err == nil:
		out, err = ofDelta(delta, cache, out, &o)
		if err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("importing %s: %w", from, err)
	case out == "":
		return nil, ErrNoFolder
	}
	b, err := convert.Import(ctx, from, out, o)
	return b, provision.ExplainFull(err, out)
}

// ofDelta fills in the base, and returns the folder of the bundle.
func ofDelta(d *convert.Delta, cache provision.Cache, out string, o *convert.Options) (string, error) {
	if o.Base == "" {
		base, err := cache.VerifyBase()
		if err != nil {
			return "", err
		}
		o.Base = base
	}
	if out != "" {
		return out, nil
	}
	name := d.Manifest.Name
	if o.Name != "" {
		name = o.Name
	}
	return cache.Bundle(name), CheckName(name, d)
}
