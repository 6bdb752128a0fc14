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

// ErrNoFolder is the error of an import that names neither its bundle nor a folder for it; only a delta has a name of
// its own.
var ErrNoFolder = errors.New("neither a name for the bundle nor its folder is given")

// Import makes a bundle from a checkpoint, an exported ONNX model, or a delta in the folder from, and returns it. A
// delta is merged with the base that setup fetched, unless o.Base is set. The bundle is written to out; if out is "",
// to the cache under its name, where Folder finds it. Without out, it returns ErrNoFolder if o.Name is "" and from is
// no delta, and wraps ErrNameTaken for a name that setup uses. Otherwise it fails if the checkpoint cannot be read or
// converted, or the bundle cannot be written.
func Import(ctx context.Context, cache provision.Cache, from, out string, o convert.Options) (*models.Bundle, error) {
	delta, err := convert.OpenDelta(os.DirFS(from))
	switch {
	case err == nil:
		out, err = prepareDelta(delta, cache, out, &o)
		if err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("importing %s: %w", from, err)
	case out == "" && o.Name == "":
		return nil, ErrNoFolder
	case out == "":
		if err := checkForeignName(o.Name); err != nil {
			return nil, err
		}
		out = cache.Bundle(o.Name)
	}
	b, err := convert.Import(ctx, from, out, o)
	return b, provision.ExplainFull(err, out)
}

// prepareDelta sets o.Base, unless it is set, to the base that setup fetched, and returns the folder for the bundle:
// out, or if that is "" one in the cache, by o.Name or else d's name. It fails if the base is missing or damaged, or,
// without out, if setup uses the name for another bundle than d's (CheckName).
func prepareDelta(d *convert.Delta, cache provision.Cache, out string, o *convert.Options) (string, error) {
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
