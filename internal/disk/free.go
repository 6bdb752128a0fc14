package disk

import "golang.org/x/sys/unix"

// Free returns how many bytes a user may still write to the file system of a path.
func (OS) Free(path string) (bytes int64, known bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
