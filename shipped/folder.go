package shipped

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"example.org/conclave/configs"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// Folder returns the folder of an expert's bundle. It looks where the configuration names one, in the configured
// folder of bundles, and in the cache, where setup and imports make bundles, in this order. If the folder has a
// delta, the result is the folder in the cache of the bundle merged from it. The error is a *BundleError if there is
// none; a damaged delta has another error.
func Folder(config configs.Config, cache provision.Cache, name string) (string, error) {
	merged := cache.Bundle(name)
	for _, expert := range config.Experts {
		if expert.Name == name && expert.Bundle != "" {
			return usableFolder(expert.Bundle, merged)
		}
	}
	places := []string{filepath.Join(config.Bundles, name), merged}
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(place, models.ManifestFile)); err == nil {
			return usableFolder(place, merged)
		}
	}
	return "", &BundleError{
		Made: isMade(name),
		Err:  fmt.Errorf("there is no bundle of expert %q in %s or %s", name, places[0], places[1]),
	}
}

// Installed reports whether the cache has a bundle of this name, whole or damaged.
func Installed(cache provision.Cache, name string) bool {
	_, err := os.Stat(filepath.Join(cache.Bundle(name), models.ManifestFile))
	return err == nil
}

// Load loads an expert's bundle from the folder that Folder finds. It returns a *BundleError if there is no bundle, the
// bundle is damaged, or a delta was not merged with its base; a damaged delta is another error.
func Load(config configs.Config, cache provision.Cache, name string) (*models.Bundle, error) {
	folder, err := Folder(config, cache, name)
	if err != nil {
		return nil, err
	}
	b, err := models.Load(folder)
	if err != nil {
		return nil, &BundleError{
			Folder: folder,
			Made:   isMade(name) && filepath.Dir(folder) == filepath.Dir(cache.Bundle(name)),
			Err:    err,
		}
	}
	return b, nil
}

// LoadFull reads an expert's bundle and verifies its files. For a bundle in 8 bits it returns the one of the same
// weights in full precision instead, if there is one in the folder InFull beside it. It fails if the bundle that it
// returns is missing or damaged, or the full one is of other weights.
func LoadFull(config configs.Config, cache provision.Cache, name string) (*models.Bundle, error) {
	b, err := Load(config, cache, name)
	if err != nil || b.Manifest.Precision != models.PrecisionInt8 {
		return b, err
	}
	full, err := models.Load(InFull(b.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		full, err = full.StandIn(b)
	}
	if err != nil {
		return nil, &BundleError{Folder: InFull(b.Dir), Made: isMade(name), Err: err}
	}
	return full, nil
}

// isMade reports whether setup makes a bundle with this name: the base, a shipped expert, or the reader.
func isMade(name string) bool { return slices.Contains(All(), name) || name == Reader }

// BundleError is the error of an expert whose bundle is missing or cannot be loaded.
type BundleError struct {
	Delta  string // the folder of a delta that is not merged with its base
	Folder string // of a bundle that is damaged
	Made   bool   // setup makes the bundle
	Err    error
}

// Error returns the text of Err.
func (e *BundleError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BundleError) Unwrap() error { return e.Err }

// usableFolder returns folder if it has no delta. If it has one, it returns merged if the bundle there was made from
// that very delta, otherwise a *BundleError with Delta set. It does not look whether folder has a bundle.
func usableFolder(folder, merged string) (string, error) {
	d, err := convert.OpenDelta(os.DirFS(folder))
	switch {
	case errors.Is(err, convert.ErrNotDelta) || errors.Is(err, fs.ErrNotExist):
		return folder, nil // whatever else is wrong is found when it is loaded
	case err != nil:
		return "", fmt.Errorf("%s: %w", folder, err)
	}
	b, err := models.Peek(merged)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &BundleError{
			Delta: folder,
			Err:   errors.New(folder + " holds a delta, which has to be merged with its base"),
		}
	case err != nil:
		return "", err
	case b.Manifest.Lineage.MergedFrom != d.SHA256:
		return "", &BundleError{
			Delta: folder,
			Err:   fmt.Errorf("%s holds another delta than %s was merged from", folder, merged),
		}
	}
	return merged, nil
}
