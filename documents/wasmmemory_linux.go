package documents

import (
	"golang.org/x/sys/unix"
)

// resizeMapping grows or shrinks memory and returns it with its old content; was is nil at first and must not be used
// afterwards. Size 0 frees it and returns nil. It also returns nil if the system has no more memory; was is then still
// valid.
func resizeMapping(was []byte, size int) []byte {
	var now []byte
	var err error
	switch {
	case size == 0:
		if was != nil {
			_ = unix.Munmap(was)
		}
		return nil
	case was == nil:
		now, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	default:
		now, err = unix.Mremap(was, size, unix.MREMAP_MAYMOVE)
	}
	if err != nil {
		return nil
	}
	return now
}
