package models

import (
	"fmt"
	"os"
	"path/filepath"
)

// ListedBundle is the bundle in a folder as its manifest describes it, or the reason why the
// folder is not a bundle.
type ListedBundle struct {
	Name        string `json:"name"` // of its folder: what to type
	Folder      string `json:"folder"`
	Dimension   int    `json:"dimension,omitempty"`
	Precision   string `json:"precision,omitempty"`
	Delta       bool   `json:"delta,omitempty"` // to be merged with its base first
	Members     int    `json:"ensemble_members,omitempty"`
	Calibrated  bool   `json:"calibrated,omitempty"`
	Familiarity bool   `json:"representatives,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Error       string `json:"error,omitempty"`
}

// List returns the bundles in the direct subfolders of dir, by the folders' names, without verifying their files. A
// subfolder without a manifest is left out; one with a bad manifest or calibration is listed with its Error. It
// fails if dir cannot be read.
func List(dir string) ([]ListedBundle, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing bundles: %w", err)
	}
	var all []ListedBundle
	for _, entry := range entries {
		sub := filepath.Join(dir, entry.Name())
		if _, err := os.Stat(filepath.Join(sub, ManifestFile)); err != nil {
			continue
		}
		l := ListedBundle{Name: entry.Name(), Folder: sub}
		if b, err := Peek(sub); err != nil {
			l.Error = err.Error()
		} else {
			l.describe(b)
		}
		all = append(all, l)
	}
	return all, nil
}

// describe sets the fields that a bundle's manifest and calibration decide; Name, Folder and Error stay.
func (l *ListedBundle) describe(b *Bundle) {
	m := &b.Manifest
	l.Dimension = m.Dimension()
	l.Precision = m.Precision
	l.Delta = m.Delta != ""
	l.Fingerprint = b.Fingerprint(Passage)
	l.Calibrated = b.Calibration != nil
	if v := m.Vectors; v != nil {
		l.Familiarity = v.Representatives != ""
		if v.Ensemble != nil {
			l.Members = v.Ensemble.Members
		}
	}
}

// Summary returns a line that describes the bundle, for people: its folder, name, kind or vectors, precision, and
// the first 12 digits of its fingerprint (a head's, of the question side).
func (b *Bundle) Summary() string {
	m := &b.Manifest
	what := ""
	side := Passage
	switch m.Kind {
	case KindDesireMe:
		what = fmt.Sprintf("a head on the question vectors of %s, %d domains", m.Base.Name, len(m.Head.Domains))
		side = Question
	case KindGenerator:
		what = "a generator, " + m.Lineage.Architecture
	case KindReranker:
		what = "a reranker, " + m.Precision
	case KindReader:
		what = "a reader, " + m.Precision
	default:
		v := m.Vectors
		what = fmt.Sprintf("%d dimensions, pooling %s, %s", v.Dimension, v.Pooling, m.Precision)
	}
	return fmt.Sprintf("%s: %s, %s, fingerprint %.12s", b.Dir, m.Name, what, b.Fingerprint(side))
}
