package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
)

const (
	manifestName    = "MANIFEST"
	manifestPending = "tmp-manifest"
	manifestBegin   = "conclave manifest "
	manifestFormat  = 2
	partedFormat    = 3 // where an expert has parts, or an owner
	spelledFormat   = 4 // where a segment has a file of its words, or of fingerprints
	fieldedFormat   = 5 // where a segment has a file of the values of its metadata
	// maxManifest bounds what a damaged or foreign file can make us read.
	maxManifest = 256 << 20
)

// ManifestFormats returns the versions of the manifest's form that are read. The lowest that has what a collection
// has is written.
func ManifestFormats() []int {
	return []int{manifestFormat, partedFormat, spelledFormat, fieldedFormat}
}

// encode returns the file of a manifest: a line that says what it is, with the
// checksum of what follows, then JSON that people can read.
func (m *manifest) encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return disk.Label("manifest", m.format(), body), nil
}

// format returns the lowest that has what the manifest says, so that an older program reads
// what it can.
func (m *manifest) format() int {
	if slices.ContainsFunc(m.Segments, func(s segmentManifest) bool { return s.Fields != nil }) {
		return fieldedFormat
	}
	if slices.ContainsFunc(m.Segments, func(s segmentManifest) bool { return s.Spelling != nil || s.Copies != nil }) {
		return spelledFormat
	}
	if slices.ContainsFunc(m.Experts, func(x expertManifest) bool { return x.Parts || x.Owner != "" }) {
		return partedFormat
	}
	return manifestFormat
}

func decodeManifest(data []byte) (*manifest, error) {
	format := manifestFormat
	for _, later := range []int{partedFormat, spelledFormat, fieldedFormat} {
		if bytes.HasPrefix(data, fmt.Appendf(nil, "%s%d ", manifestBegin, later)) {
			format = later
		}
	}
	body, err := disk.Unlabel("manifest", format, data)
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
