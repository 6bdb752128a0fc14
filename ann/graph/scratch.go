package graph

import (
	"errors"
	"unsafe"

	"example.org/conclave/internal/disk"
)

// smallArray is the most bytes of an array that a build keeps in its own memory. Larger ones lie in scratch memory.
const smallArray = 1 << 20

// scratch hands out the arrays of a build. Large ones lie in files without a name in a folder, so that the memory of
// the process does not grow with the vectors. The zero value but for disk and folder has none.
type scratch struct {
	disk   disk.Disk
	folder string
	files  []*disk.Mapping
}

// allocate returns an array of n values, whose bytes all are fill. It is valid until release, and T must have no
// pointers. It fails if the disk has no room, or its file system cannot map files for writing.
func allocate[T any](s *scratch, n int, fill byte) ([]T, error) {
	var one T
	size := n * int(unsafe.Sizeof(one))
	if size > smallArray {
		m, err := s.disk.MapScratch(s.folder, int64(size), fill)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, m)
		return unsafe.Slice((*T)(unsafe.Pointer(&m.Data[0])), n), nil
	}
	values := make([]T, n)
	if fill != 0 && size > 0 {
		data := unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), size)
		for i := range data {
			data[i] = fill
		}
	}
	return values, nil
}

// release gives all arrays back, which must not be used any more. It returns the errors of unmapping.
func (s *scratch) release() (err error) {
	for _, m := range s.files {
		err = errors.Join(err, m.Close())
	}
	s.files = nil
	return err
}
