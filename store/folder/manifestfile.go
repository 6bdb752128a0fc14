package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
)

const (
	manifestName    = "MANIFEST"
	manifestPending = "tmp-manifest"
	manifestBegin   = "conclave manifest "
	manifestFormat  = 5
	// maxManifest bounds what a damaged or foreign file can make us read.
	maxManifest = 256 << 20
)

// ManifestFormats returns the versions of the manifest's form that this program reads.
func ManifestFormats() []int { return []int{manifestFormat} }

// encode returns the file of a manifest: a line that says what it is, with the
// checksum of what follows, then JSON that people can read.
func (m *manifest) encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return disk.Label("manifest", manifestFormat, body), nil
}

func decodeManifest(data []byte) (*manifest, error) {
	body, err := disk.Unlabel("manifest", manifestFormat, data)
	if err != nil {
		return nil, fmt.Errorf("%w; restore the collection from a snapshot, or index again", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	m := &manifest{}
	if err := d.Decode(m); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows its end")
	}
	return m, m.check()
}

// readManifest reads and checks the manifest of a folder. ErrNotCollection
// when there is none.
func readManifest(d disk.Disk, dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestName)
	file, err := d.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fault(ErrNotCollection, dir, "", "%s holds no collection (it has no file %s)", dir, manifestName)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	m, err := decodeManifest(data)
	if other := (*disk.FormatError)(nil); errors.As(err, &other) {
		return nil, fault(ErrOtherFormat, dir, "", "the collection in %s cannot be read: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return m, nil
}

// newest does something with the newest generation, without a lock, and once more
// where it failed and a writer has published another one since: files that only
// the one before names may be gone.
func newest(d disk.Disk, dir string, do func(m *manifest) error) error {
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

// writeManifest puts a manifest in the place of the one before. The error is nil
// when the new one is published, and only then.
func writeManifest(d disk.Disk, dir string, m *manifest) (outcome, error) {
	if err := m.check(); err != nil {
		return notPublished, fmt.Errorf("refusing to publish generation %d: %w", m.Generation, err)
	}
	data, err := m.encode()
	if err != nil {
		return notPublished, err
	}
	pending := filepath.Join(dir, manifestPending)
	if err := d.WriteFile(pending, data); err != nil {
		return notPublished, err
	}
	if err := d.SyncFile(pending); err != nil {
		return notPublished, err
	}
	if err := d.Rename(pending, filepath.Join(dir, manifestName)); err != nil {
		return unknown, err
	}
	if err := d.SyncDir(dir); err != nil {
		return unknown, err
	}
	return published, nil
}
