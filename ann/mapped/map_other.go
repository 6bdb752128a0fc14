//go:build !unix

package mapped

import (
	"io"
	"os"
)

// mapFile reads the whole file where there is no memory map: correct, but
// opening costs time and memory that grow with it.
func mapFile(file *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(file, data)
	return data, err
}

func unmap([]byte) error { return nil }
