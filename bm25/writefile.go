package bm25

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeFile writes a file that appears under its name only when it is whole
// and on the disk, and that its owner alone reads: a temporary file, fsync, rename, fsync of the folder.
func writeFile(path string, write func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("making a temporary file for %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("syncing %s: %w", path, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("syncing the folder of %s: %w", path, err)
	}
	return nil
}
