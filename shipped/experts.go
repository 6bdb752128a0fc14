// Package shipped holds the experts that conclave ships, as deltas to the base
// encoder: what training changed in it, a few megabytes each (convert.Delta;
// training/README.md says what the files are). They are part of the program: a
// binary has the experts that belong to it. `conclave setup` merges them with the
// base.
package shipped

import (
	"embed"
	"io/fs"
)

// FS holds a folder for each expert, named after it. The line below names them
// one by one, since a folder that somebody trains or imports here is not
// shipped by that alone: to add an expert, add its name.
//
//go:embed README.md answers.yaml calibration.yaml confidence.yaml amazon covid
//go:embed desire-me fairytale late medquad multilingual-confidence.yaml multilingual-late
//go:embed multilingual-late-confidence.yaml multilingual-late-unspaced-verdict.yaml multilingual-late-verdict.yaml
//go:embed multilingual-unspaced-verdict.yaml multilingual-verdict.yaml nq policy reader verdict.yaml wiki
var FS embed.FS

// expertNames returns the names of the shipped experts of the base in ascending order, without the reader's.
func expertNames() []string {
	entries, err := fs.ReadDir(FS, ".")
	if err != nil {
		return nil // cannot be: the root of an embed.FS is always there
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != Reader && e.Name() != MultilingualLate {
			names = append(names, e.Name())
		}
	}
	return names
}
