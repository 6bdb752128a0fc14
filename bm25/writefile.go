package bm25

import (
	"fmt"
	"io"

	"conclave/disk"
)

// writeFile writes a file that appears under its name only when it is whole
// and durable.
func writeFile(d disk.Disk, path string, write func(io.Writer) error) error {
	file, err := disk.Replace(d, path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if err := write(file); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
