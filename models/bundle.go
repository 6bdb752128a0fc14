package models

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
)

// CardFile is the name of the description for people in a bundle's folder.
const CardFile = "CARD.md"

// Bounds of what is read whole: far above what any published model has, and far below what
// would take a machine's memory.
const (
	MaxSmallBytes = 16 << 20 // of a configuration, a manifest or a card
	MaxGraphBytes = 2 << 30  // of a graph: the bound of its format
)

// Bundle is an expert's folder, verified.
type Bundle struct {
	// Dir is the folder.
	Dir      string
	Manifest Manifest
	// Calibration is nil where the bundle has none.
	Calibration *Calibration
	standsFor   *Bundle // see StandIn
}

// Path returns the path of the bundle's file with this name, whether or not it is there.
func (b *Bundle) Path(file string) string { return filepath.Join(b.Dir, file) }

// Load reads the bundle in dir and verifies every file against the manifest, which reads all of them: 90 MB for the
// base encoder. It fails with fs.ErrNotExist where there is no manifest, and if the manifest, the calibration or a
// listed file is missing, damaged or of another encoder; the error names each such file. Files that the manifest does
// not list are ignored.
func Load(dir string) (*Bundle, error) {
	b, err := Peek(dir)
	if err != nil {
		return nil, err
	}
	if err := VerifyFiles(os.DirFS(dir), dir, &b.Manifest); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", dir, err)
	}
	return b, nil
}

// Peek reads the manifest and the calibration of the bundle in dir, for listings. It neither reads nor verifies the
// other files. It fails with fs.ErrNotExist where there is no manifest, if one of the two is damaged, and for a
// calibration that was fitted for another encoder; a bundle without a calibration is fine.
func Peek(dir string) (*Bundle, error) {
	b := &Bundle{Dir: dir}
	if _, err := b.readManifest(os.DirFS(dir)); err != nil {
		return nil, err
	}
	return b, nil
}

// PeekIn reads the manifest and the calibration of a bundle in files, which has no folder of its own: Dir of the result
// is "". It neither reads nor verifies the other files. sum is the SHA-256 that covers its manifest and calibration, in
// hexadecimal. It fails with fs.ErrNotExist where there is no manifest, if one of the two is damaged, and for a
// calibration that was fitted for another encoder.
func PeekIn(files fs.FS) (b *Bundle, sum string, err error) {
	b = &Bundle{}
	sum, err = b.readManifest(files)
	if err != nil {
		return nil, "", err
	}
	return b, sum, nil
}

// readManifest reads the manifest and, if there is one, the calibration into b, and returns the SHA-256 that covers
// both (sumOf). It fails with fs.ErrNotExist if there is no manifest, and if one of the two is larger than
// MaxSmallBytes or invalid; b is then filled in part.
func (b *Bundle) readManifest(files fs.FS) (sum string, err error) {
	data, err := disk.ReadRegularIn(files, ManifestFile, MaxSmallBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is no expert bundle: it has no %s: %w", cmp.Or(b.Dir, "the folder"), ManifestFile, err)
	} else if err != nil {
		return "", err
	}
	b.Manifest, err = ParseManifest(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", b.Path(ManifestFile), err)
	}
	calibration, err := disk.ReadRegularIn(files, CalibrationFile, MaxSmallBytes)
	if err == nil {
		b.Calibration, err = b.readCalibration(calibration)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: %w", b.Path(CalibrationFile), err)
	}
	return sumOf(data, calibration), nil
}

// sumOf returns the SHA-256 of the SHA-256s of a manifest and a calibration, in hexadecimal. calibration is nil if
// there is none.
func sumOf(manifest, calibration []byte) string {
	hash := sha256.New()
	for _, data := range [][]byte{manifest, calibration} {
		sum := sha256.Sum256(data)
		_, _ = hash.Write(sum[:])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// VerifyFiles compares the files of a bundle with the SHA-256 sums in its manifest. The error names each file that
// is missing, changed or unreadable, in the order of their names, as one in the folder place; nil: all are as
// listed. Files that m does not list are ignored.
func VerifyFiles(files fs.FS, place string, m *Manifest) error {
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
					filepath.Join(place, name), sum, m.Files[name],
				),
			)
		}
	}
	return errors.Join(all...)
}

// hashIn returns the SHA-256 of a file in files, in hexadecimal. It fails if there is no regular file with the
// name.
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

// HashFile returns the SHA-256 of the regular file at path, in hexadecimal. It fails if it cannot be read or is no
// regular file.
func HashFile(path string) (string, error) {
	return hashIn(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

// WriteManifest replaces the manifest in the bundle's folder by b.Manifest; a reader sees the old file or the new.
// It fails, and writes nothing, for an invalid manifest.
func (b *Bundle) WriteManifest() error {
	data, err := b.Manifest.Encode()
	if err != nil {
		return fmt.Errorf("bundle %q: %w", b.Manifest.Name, err)
	}
	return replaceFile(b.Path(ManifestFile), data)
}

// replaceFile replaces the content of a file, or makes it, with the mode 0644. A reader sees the old content or the
// new, never a part; after an error the old one is there.
func replaceFile(path string, data []byte) error {
	return disk.ReplaceFile(disk.OS{}, path, func(file *disk.Replacement) error {
		_, err := file.Write(data)
		return errors.Join(err, os.Chmod(file.Name(), 0o644)) // as the bundle's other files
	})
}
