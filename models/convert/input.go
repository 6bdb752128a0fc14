package convert

import (
	"encoding/json"
	"fmt"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
)

// mostTokenizer bounds a vocabulary, in bytes.
const mostTokenizer = 256 << 20

// readSmall reads one of the small files of a checkpoint.
func readSmall(path string) ([]byte, error) { return disk.ReadRegular(path, models.MaxSmallBytes) }

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
