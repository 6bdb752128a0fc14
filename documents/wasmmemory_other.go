//go:build !linux

package documents

import (
	"golang.org/x/sys/unix"
)

// resizeMapping returns memory of another size with the content that it had; nil where there is none.
// The memory that it had, nil at first, is gone then. Size 0 gives it back.
func resizeMapping(was []byte, size int) []byte {
	var now []byte
	if size > 0 {
		var err error
		now, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return nil
		}
		copy(now, was)
	}
	if was != nil {
		_ = unix.Munmap(was)
	}
	return now
}
