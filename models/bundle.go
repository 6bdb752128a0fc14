package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Bundle is an expert's folder, verified.
type Bundle struct {
	// Dir is the folder.
	Dir      string
	Manifest Manifest
	// Calibration is nil where the bundle has none.
	Calibration *Calibration
}

// Path is where a file of the bundle is.
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
	path := filepath.Join(dir, ManifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no expert bundle: it has no %s: %w", dir, ManifestFile, err)
	} else if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", dir, err)
	}
	m, err := ParseManifest(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b := &Bundle{Dir: dir, Manifest: m}
	if err := b.readCalibration(); err != nil {
		return nil, err
	}
	return b, nil
}

// Listed is a folder of List: a bundle, or why it is none.
type Listed struct {
	Dir    string
	Bundle *Bundle
	Err    error
}

// List looks for bundles in the direct subfolders of dir, by name. A
// subfolder without a manifest is passed over; one with a bad manifest is
// listed with its error. Files are not verified.
func List(dir string) ([]Listed, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing bundles: %w", err)
	}
	var all []Listed
	for _, entry := range entries {
		sub := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(filepath.Join(sub, ManifestFile)); err != nil {
			continue
		}
		b, err := Peek(sub)
		all = append(all, Listed{Dir: sub, Bundle: b, Err: err})
	}
	return all, nil
}

func hashFile(path string) (string, error) {
	return hashIn(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}
