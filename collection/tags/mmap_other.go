//go:build !unix

package tags

import (
	"io"
	"os"
)

// mapFile reads a file of the given size into memory, where files cannot be mapped.
func mapFile(file *os.File, size int) (data []byte, unmap func() error, err error) {
	data = make([]byte, size)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
