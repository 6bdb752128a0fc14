package models

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
)

// Delta is an expert as it is distributed: what fine-tuning changed in a base
// checkpoint, in one or two megabytes, with its ensemble, representatives,
// calibration and card. training/README.md says what its files hold. Merge
// makes the bundle that is used.
type Delta struct {
	Manifest Manifest
	// Calibration is nil where there is none. Its Encoder is the SHA-256 of
	// the delta's file.
	Calibration *Calibration
	// SHA256 is the SHA-256 of the manifest and the calibration. The manifest
	// holds the SHA-256 of the other files and of the base's weights, so this
	// one covers everything that a merged bundle is made from.
	SHA256 string

	files   fs.FS
	changes update
}

// OpenDelta reads a delta bundle and verifies every file, without the base.
// The error is fs.ErrNotExist where there is no manifest, and ErrNotDelta for
// a bundle that is none.
func OpenDelta(files fs.FS) (*Delta, error) {
	var b Bundle
	sum, err := b.read(files)
	if err != nil {
		return nil, err
	}
	if b.Manifest.Delta == "" {
		return nil, ErrNotDelta
	}
	d := &Delta{Manifest: b.Manifest, Calibration: b.Calibration, SHA256: sum, files: files}
	m := &d.Manifest
	if err := verifyFiles(files, "", m); err != nil {
		return nil, err
	}
	if m.Kind == KindDesireMe { // the delta is a graph, as it is
		return d, nil
	}
	weights, err := disk.ReadRegularIn(files, m.Delta, mostGraph)
	if err != nil {
		return nil, err
	}
	d.changes, err = readUpdate(weights, m.Base.WeightsSHA256)
	if err == nil {
		err = d.changes.suits(m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Delta, err)
	}
	if m.Representatives != "" {
		data, err := disk.ReadRegularIn(files, m.Representatives, mostGraph)
		if err == nil {
			_, err = readRepresentatives(data, m)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Representatives, err)
		}
	}
	return d, nil
}

// ErrNotDelta says that a bundle holds graphs and no delta.
var ErrNotDelta = errors.New("it is no delta: the bundle can be used as it is")

// deltaSum returns Delta.SHA256. calibration is nil where there is none.
func deltaSum(manifest, calibration []byte) string {
	hash := sha256.New()
	for _, data := range [][]byte{manifest, calibration} {
		sum := sha256.Sum256(data)
		_, _ = hash.Write(sum[:])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Tied says that one encoder serves both sides.
func (d *Delta) Tied() bool { return d.changes[sharedTower] != nil }

// travelling names the files that a merged bundle takes over.
func (d *Delta) travelling() []string {
	return slices.DeleteFunc(
		slices.Sorted(maps.Keys(d.Manifest.Files)),
		func(name string) bool { return name == d.Manifest.Delta },
	)
}

// verifyFiles compares the files of a bundle with the manifest's SHA-256. Its
// errors name the files as they are in the folder place.
func verifyFiles(files fs.FS, place string, m *Manifest) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		sum, err := hashIn(files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = append(all, fmt.Errorf("%s is missing", filepath.Join(place, name)))
		case err != nil:
			all = append(all, fmt.Errorf("%s: %w", filepath.Join(place, name), err))
		case sum != m.Files[name]:
			all = append(
				all,
				fmt.Errorf(
					"%s has changed: its SHA-256 is %s, the manifest has %s; restore the file or import the bundle again",
					filepath.Join(place, name),
					sum,
					m.Files[name],
				),
			)
		}
	}
	return errors.Join(all...)
}

func hashIn(files fs.FS, name string) (string, error) {
	f, err := disk.OpenRegularIn(files, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// copy writes a file of the delta, and makes sure that it is the one that was
// verified.
func (d *Delta) copy(w io.Writer, name string) error {
	data, err := disk.ReadRegularIn(d.files, name, mostGraph)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != d.Manifest.Files[name] {
		return errors.New("it changed while it was read")
	}
	_, err = w.Write(data)
	return err
}
