//go:build unix

package tags

import (
	"os"
	"syscall"
)

// mapFile maps a file of the given size into memory for reading.
func mapFile(file *os.File, size int) (data []byte, unmap func() error, err error) {
	data, err = syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return data, func() error { return os.NewSyscallError("munmap", syscall.Munmap(data)) }, nil
}
