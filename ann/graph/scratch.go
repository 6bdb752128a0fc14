package graph

import (
	"errors"
	"io"

	"example.org/conclave/internal/disk"
)

// scratch hands out the arrays of a build (disk.Array), and closes them together. The zero value but for disk and
// folder has none.
type scratch struct {
	disk   disk.Disk
	folder string
	arrays []io.Closer
}

// allocate returns an array of n values, whose bytes all are fill. It is valid until release, and T must have no
// pointers. It fails if the disk has no room, or its file system cannot map files for writing.
func allocate[T any](s *scratch, n int, fill byte) ([]T, error) {
	a, err := disk.NewArray[T](s.disk, s.folder, n, fill)
	if err != nil {
		return nil, err
	}
	s.arrays = append(s.arrays, a)
	return a.Values(), nil
}

// release gives all arrays back, which must not be used any more. It returns the errors of unmapping.
func (s *scratch) release() (err error) {
	for _, a := range s.arrays {
		err = errors.Join(err, a.Close())
	}
	s.arrays = nil
	return err
}
