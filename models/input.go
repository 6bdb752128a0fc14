package models

import (
	"encoding/json"
	"fmt"

	"example.org/conclave/internal/disk"
)

// Bounds of what is read whole, in bytes: far above what any published model has, and far
// below what would take a machine's memory.
const (
	mostSmall     = 16 << 20  // of a configuration, a manifest or a card
	mostTokenizer = 256 << 20 // of a vocabulary
	mostGraph     = 2 << 30   // of a graph: the bound of its format
)

// readSmall reads one of the small files of a checkpoint or a bundle.
func readSmall(path string) ([]byte, error) { return disk.ReadRegular(path, mostSmall) }

// readJSON reads a small file of JSON into v. The error names the file and, where a value has
// the wrong type, the key.
func readJSON(path string, v any) error {
	data, err := readSmall(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
