package convert

import (
	"errors"
	"fmt"
	"os"

	"example.org/conclave/models"
)

// VerifiedBundle is the result of Verify for one bundle.
type VerifiedBundle struct {
	Folder      string `json:"folder"`
	Fine        bool   `json:"fine"`
	Name        string `json:"name,omitempty"`
	Delta       bool   `json:"delta,omitempty"`
	Files       int    `json:"files,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Error       string `json:"error,omitempty"`
}

// Verify compares every file of the bundle or delta in dir with its checksum (Load), and with the manifest's
// description of its content (models.Bundle.Check). If Fine is false, Error says what is wrong, and of the other
// fields Folder alone is set.
func Verify(dir string) VerifiedBundle {
	b, err := models.Load(dir)
	if err == nil {
		err = checkFiles(b)
	}
	if err != nil {
		return VerifiedBundle{Folder: dir, Error: err.Error()}
	}
	m := &b.Manifest
	return VerifiedBundle{
		Folder:      dir,
		Fine:        true,
		Name:        m.Name,
		Delta:       m.Delta != "",
		Files:       len(m.Files),
		Fingerprint: b.Fingerprint(models.Passage),
	}
}

// checkFiles returns an error if the contents of b's files are not as its manifest says (models.Bundle.Check), or
// if b is a delta that cannot be read. Whether a delta fits its base is not checked.
func checkFiles(b *models.Bundle) error {
	err := b.Check()
	if b.Manifest.Delta == "" {
		return err
	}
	if _, wrong := OpenDelta(os.DirFS(b.Dir)); wrong != nil {
		err = errors.Join(fmt.Errorf("%s: %w", b.Dir, wrong), err)
	}
	return err
}
