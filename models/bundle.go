package models

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
)

// Bundle is an expert's folder, verified.
type Bundle struct {
	// Dir is the folder.
	Dir      string
	Manifest Manifest
	// Calibration is nil where the bundle has none.
	Calibration *Calibration
}

// Path returns where a file of the bundle is.
func (b *Bundle) Path(file string) string { return filepath.Join(b.Dir, file) }

// Load reads the bundle in dir and verifies every file against the manifest.
// A missing or changed file is an error that names it. Load reads all files
// once, 90 MB for the base encoder.
func Load(dir string) (*Bundle, error) {
	b, err := Peek(dir)
	if err != nil {
		return nil, err
	}
	if err := verifyFiles(os.DirFS(dir), dir, &b.Manifest); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", dir, err)
	}
	return b, nil
}

// Peek reads the manifest and calibration of the bundle in dir and leaves the
// other files unread and unverified; for listings.
func Peek(dir string) (*Bundle, error) {
	b := &Bundle{Dir: dir}
	if _, err := b.read(os.DirFS(dir)); err != nil {
		return nil, err
	}
	return b, nil
}

// read reads manifest and calibration, and gives the SHA-256 of both (see
// Delta.SHA256).
func (b *Bundle) read(files fs.FS) (sum string, err error) {
	data, err := disk.ReadRegularIn(files, ManifestFile, mostSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is no expert bundle: it has no %s: %w", cmp.Or(b.Dir, "the folder"), ManifestFile, err)
	} else if err != nil {
		return "", err
	}
	b.Manifest, err = ParseManifest(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", b.Path(ManifestFile), err)
	}
	calibration, err := disk.ReadRegularIn(files, CalibrationFile, mostSmall)
	if err == nil {
		b.Calibration, err = b.readCalibration(calibration)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", b.Path(CalibrationFile), err)
	}
	return deltaSum(data, calibration), nil
}

func hashFile(path string) (string, error) {
	return hashIn(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}
