package folder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store/folder/internal/manifest"
)

// readManifest reads and checks the manifest of a folder. It returns an ErrNotCollection fault if there is none, and
// ErrOtherFormat if this program cannot read its format.
func readManifest(d disk.Disk, dir string) (*manifest.Manifest, error) {
	path := filepath.Join(dir, manifest.FileName)
	file, err := d.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault(ErrNotCollection, dir, "", "%s holds no collection (it has no file %s)", dir, manifest.FileName)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, manifest.MaxManifest))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	m, err := manifest.Decode(data)
	if other := (*disk.FormatError)(nil); errors.As(err, &other) {
		return nil, fault(ErrOtherFormat, dir, "", "the collection in %s cannot be read: %w", dir, err)
	}
	if err != nil {
		return nil, ownerFault(fmt.Errorf("reading %s: %w", path, err), "")
	}
	return m, nil
}

// withNewest calls do with the newest manifest, without a lock, and returns its error. If do fails and a writer has
// published another manifest meanwhile, it calls do again with that one, since files of the old one may be gone.
func withNewest(d disk.Disk, dir string, do func(m *manifest.Manifest) error) error {
	for {
		m, err := readManifest(d, dir)
		if err != nil {
			return err
		}
		err = do(m)
		if err == nil {
			return nil
		}
		if again, failed := readManifest(d, dir); failed != nil || again.Generation == m.Generation {
			return err
		}
	}
}

// ManifestFormats returns the versions of the manifest's format that this program reads.
func ManifestFormats() []int { return []int{manifest.Format} }
