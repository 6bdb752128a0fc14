//go:build !linux

package documents

import (
	"golang.org/x/sys/unix"
)

// resizeMapping returns memory of another size with the old content; was is nil at first and must not be used
// afterwards. Size 0 frees it and returns nil. It also returns nil if the system has no more memory; was is then still
// valid.
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
