//go:build unix

package corpus

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a file in memory, read-only. Pages come from disk when they are
// touched, so opening a large file costs nothing and the memory is the
// system's to reclaim.
type mapping struct{ data []byte }

func mapFile(path string) (*mapping, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // a mapping outlives its descriptor
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if size == 0 { // cannot be mapped, and is no file of ours
		return &mapping{}, nil
	}
	if size != int64(int(size)) {
		return nil, fmt.Errorf("%s has %d bytes, more than this machine can map", path, size)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return &mapping{data: data}, nil
}

func (m *mapping) close() error {
	if m.data == nil {
		return nil
	}
	data := m.data
	m.data = nil
	return unix.Munmap(data)
}
