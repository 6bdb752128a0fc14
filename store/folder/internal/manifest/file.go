package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"example.org/conclave/internal/disk"
)

const (
	FileName        = "MANIFEST"
	ManifestPending = "tmp-manifest"
	Begin           = "conclave manifest "
	Format          = 8
	// MaxManifest is the most bytes of a manifest; a larger file is damaged or foreign.
	MaxManifest = 256 << 20
)

// Encode returns the content of the manifest's file: a line with the format and the checksum of the rest, then JSON.
// It fails if the manifest cannot be encoded.
func (m *Manifest) Encode() ([]byte, error) {
	body, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return disk.Label("manifest", Format, body), nil
}

// Decode returns the manifest of a file with this content. It returns a *disk.FormatError for a format of another
// version, and an error for damage, unknown fields or contradictions (checkContents).
func Decode(data []byte) (*Manifest, error) {
	body, err := disk.Unlabel("manifest", Format, data)
	if errors.As(err, new(*disk.FormatError)) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w; restore the collection from a snapshot, or index again", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	m := &Manifest{}
	if err := d.Decode(m); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows its end")
	}
	return m, m.checkContents()
}

// Write replaces the manifest in the folder dir and returns what became of it: only with Published the error is nil.
// It refuses a manifest that checkContents rejects. It does not check that the files that the manifest names are
// there.
func Write(d disk.Disk, dir string, m *Manifest) (Outcome, error) {
	if err := m.checkContents(); err != nil {
		return NotPublished, fmt.Errorf("refusing to publish generation %d: %w", m.Generation, err)
	}
	data, err := m.Encode()
	if err != nil {
		return NotPublished, err
	}
	pending := filepath.Join(dir, ManifestPending)
	if err := d.WriteFile(pending, data); err != nil {
		return NotPublished, err
	}
	if err := d.SyncFile(pending); err != nil {
		return NotPublished, err
	}
	if err := d.Rename(pending, filepath.Join(dir, FileName)); err != nil {
		return Unknown, err
	}
	if err := d.SyncDir(dir); err != nil {
		return Unknown, err
	}
	return Published, nil
}

// Outcome is what became of a manifest that was to be published.
type Outcome int

const (
	// NotPublished: the generation before counts, and nothing of the new one
	// ever will. Only now may files of the new one be removed.
	NotPublished Outcome = iota
	// Published: the new generation counts and would survive a power cut. Only now may
	// the files that only the generation before names be removed.
	Published
	// Unknown: either of the two may be there after a power cut. Nothing may be removed.
	Unknown
)
