package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
)

// Delta is an expert as it is distributed: the changes of fine-tuning to a base checkpoint, in one or two megabytes,
// with its ensemble, representatives, calibration and card. training/README.md describes its files. Merge makes the
// bundle that is used.
type Delta struct {
	Manifest models.Manifest
	// Calibration is nil where there is none. Its Encoder is the SHA-256 of
	// the delta's file.
	Calibration *models.Calibration
	// SHA256 is the SHA-256 of the manifest and the calibration. The manifest
	// holds the SHA-256 of the other files and of the base's weights, so this
	// one covers everything that a merged bundle is made from.
	SHA256 string

	files   fs.FS
	changes update
}

// OpenDelta reads a delta bundle from files, which it keeps, and verifies every file, without the base. It fails
// with fs.ErrNotExist where there is no manifest, with ErrNotDelta for a bundle that is none, and for changes or
// representatives that are damaged or of another base than the manifest's.
func OpenDelta(files fs.FS) (*Delta, error) {
	b, sum, err := models.PeekIn(files)
	if err != nil {
		return nil, err
	}
	if b.Manifest.Delta == "" {
		return nil, ErrNotDelta
	}
	d := &Delta{Manifest: b.Manifest, Calibration: b.Calibration, SHA256: sum, files: files}
	m := &d.Manifest
	if err := models.VerifyFiles(files, "", m); err != nil {
		return nil, err
	}
	if m.Kind == models.KindDesireMe { // the delta is a graph, as it is
		return d, nil
	}
	weights, err := disk.ReadRegularIn(files, m.Delta, models.MaxGraphBytes)
	if err != nil {
		return nil, err
	}
	d.changes, err = readUpdate(weights, m.Base.WeightsSHA256)
	if err == nil {
		err = d.changes.checkSuits(m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Delta, err)
	}
	if v := m.Vectors; v != nil && v.Representatives != "" {
		data, err := disk.ReadRegularIn(files, v.Representatives, models.MaxGraphBytes)
		if err == nil {
			_, err = models.ParseRepresentatives(data, m)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Representatives, err)
		}
	}
	return d, nil
}

// ErrNotDelta is the error of a bundle that has graphs and is no delta.
var ErrNotDelta = errors.New("it is no delta: the bundle can be used as it is")

// Tied reports whether the delta changes one encoder for both questions and passages, rather than two. It is false
// for a DESIRE-ME expert.
func (d *Delta) Tied() bool { return d.changes[sharedTower] != nil }

// carriedFiles returns, sorted, the names of the files that a merged bundle copies: all but the one with the changed
// weights.
func (d *Delta) carriedFiles() []string {
	return slices.DeleteFunc(
		slices.Sorted(maps.Keys(d.Manifest.Files)), func(name string) bool { return name == d.Manifest.Delta },
	)
}

// copyFile copies a file of the delta to w. It fails, with nothing written, if the file no longer has the SHA-256
// in the manifest, or is longer than models.MaxGraphBytes.
func (d *Delta) copyFile(w io.Writer, name string) error {
	data, err := disk.ReadRegularIn(d.files, name, models.MaxGraphBytes)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != d.Manifest.Files[name] {
		return errors.New("it changed while it was read")
	}
	_, err = w.Write(data)
	return err
}
