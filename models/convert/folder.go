package convert

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
)

// Folder is a bundle being written. Finish gives the whole folder its name, so an
// interrupted or failed import leaves no half bundle. The next import of the same
// name clears away what a killed one left. Abandon the folder in any case.
type Folder struct {
	target, work string   // work is "" once the bundle is in its place
	lock         *os.File // held while work is there
	sums         map[string]string
	calibration  *models.Calibration // to be written for the encoder that is made
	check        func(*models.Bundle) error
}

// NewFolder begins a bundle that will be dir, in a hidden folder beside it, which is locked until Finish or
// Abandon; the folders above are made. A bundle that is already there is replaced by Finish; a folder that is not
// empty and no bundle is an error, so that a mistyped name destroys nothing. It also fails while another import of
// dir is under way.
func NewFolder(dir string) (*Folder, error) {
	dir = filepath.Clean(dir)
	if err := checkReplaceable(dir); err != nil {
		return nil, err
	}
	if err := disk.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	work, lock, err := workFolder(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{target: dir, work: work, lock: lock, sums: map[string]string{}}, nil
}

// Create makes the file name in the bundle with what write writes, syncs it, and keeps its SHA-256 for the
// manifest. A file of that name is replaced. After an error the file is there in part, and not in the manifest.
func (f *Folder) Create(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Join(f.work, name))
	if err != nil {
		return err
	}
	hash := sha256.New()
	buffered := bufio.NewWriterSize(io.MultiWriter(file, hash), 1<<20)
	err = write(buffered)
	if err == nil {
		err = errors.Join(buffered.Flush(), file.Sync())
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	f.sums[name] = hex.EncodeToString(hash.Sum(nil))
	return nil
}

// bundleFile is a file of a bundle that is being written.
type bundleFile struct {
	name  string
	write func(io.Writer) error
}

// writeBundle makes the bundle dir from its files, written in order, and returns it; see Folder.Finish. A bundle
// that is there is replaced; after an error it stays and nothing else is left. calibration nil: there is none.
// check may be nil (see Options.Check).
func writeBundle(
	dir string,
	m models.Manifest,
	calibration *models.Calibration,
	check func(*models.Bundle) error,
	files []bundleFile,
) (*models.Bundle, error) {
	folder, err := NewFolder(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Abandon()
	for _, file := range files {
		if err := folder.Create(file.name, file.write); err != nil {
			return nil, err
		}
	}
	folder.calibration, folder.check = calibration, check
	return folder.Finish(m)
}

// Finish completes the bundle and moves it to its target, where it replaces an older one. It writes the manifest m with
// Format and Files set, the calibration if there is one, and CARD.md if Create has not made it; then it calls check. It
// returns the bundle as Peek reads it at the target.
// If it fails before the move, the older bundle is still there, and the caller calls Abandon. After the move, the lock
// is released and Abandon does nothing; the only error left is that of Peek.
func (f *Folder) Finish(m models.Manifest) (*models.Bundle, error) {
	if f.sums[models.CardFile] == "" {
		if err := f.Create(models.CardFile, func(w io.Writer) error { return writeCard(w, &m) }); err != nil {
			return nil, err
		}
	}
	m.Format = models.Format
	m.Files = f.sums
	made := models.Bundle{Dir: f.work, Manifest: m}
	if err := made.WriteManifest(); err != nil {
		return nil, err
	}
	if f.calibration != nil {
		if err := made.WriteCalibration(*f.calibration); err != nil {
			return nil, err
		}
	}
	if f.check != nil {
		made, err := models.Peek(f.work)
		if err == nil {
			err = f.check(made)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := checkReplaceable(f.target); err != nil {
		return nil, err
	}
	old := f.work + ".old"
	if err := os.Rename(f.target, old); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if err := os.Rename(f.work, f.target); err != nil {
		_ = os.Rename(old, f.target)
		return nil, err
	}
	_ = os.RemoveAll(old)
	f.work = ""
	_ = f.lock.Close()
	return models.Peek(f.target)
}

// Abandon removes what was written and ends the lock, unless Finish has moved the bundle to its place; then it does
// nothing.
func (f *Folder) Abandon() {
	if f.work != "" {
		_ = os.RemoveAll(f.work)
		_ = f.lock.Close()
	}
}

// checkReplaceable returns an error unless dir is missing, an empty folder, or a folder with a bundle's manifest.
func checkReplaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot become a bundle: %w", dir, err)
	case len(entries) == 0:
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, models.ManifestFile)); err != nil {
		return fmt.Errorf("%s exists and is no expert bundle: choose another folder, or remove it", dir)
	}
	return nil
}
