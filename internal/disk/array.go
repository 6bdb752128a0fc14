package disk

import "unsafe"

// smallArray is the most bytes of an Array in the process's own memory. Larger ones lie in scratch memory.
const smallArray = 1 << 20

// Array is a list of values that grows. Above 1 MiB it lies in scratch memory of a disk (MapScratch), so that the
// memory of the process does not grow with it. The zero value is empty and stays in the process's memory. T must have
// no pointers. It is not safe for concurrent use.
type Array[T any] struct {
	disk    Disk
	folder  string
	mapping *Mapping
	values  []T
}

// NewArray returns an array of n values, whose bytes all are fill. If it is large, it lies in a file without a name in
// folder. The caller closes it. It fails if the disk has no room, or its file system cannot map files for writing.
func NewArray[T any](d Disk, folder string, n int, fill byte) (*Array[T], error) {
	a := NewList[T](d, folder)
	if err := a.reserve(n, fill); err != nil {
		return nil, err
	}
	a.values = a.values[:n]
	return a, nil
}

// NewList returns an empty array for values that are appended. If they become many, they lie in files without a name in
// folder. The caller closes it.
func NewList[T any](d Disk, folder string) *Array[T] { return &Array[T]{disk: d, folder: folder} }

// reserve moves the values to memory with room for n of them, which must not be fewer. The room after them has the
// value fill. It fails if the disk has no room, or its file system cannot map files for writing; nothing changes then.
func (a *Array[T]) reserve(n int, fill byte) error {
	var one T
	size := n * int(unsafe.Sizeof(one))
	var mapping *Mapping
	values := make([]T, 0)
	if a.disk != nil && size > smallArray {
		m, err := a.disk.MapScratch(a.folder, int64(size), fill)
		if err != nil {
			return err
		}
		mapping = m
		values = unsafe.Slice((*T)(unsafe.Pointer(&m.Data[0])), n)[:0]
	} else if n > 0 {
		values = make([]T, 0, n)
		if fill != 0 {
			data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), size)
			for i := range data {
				data[i] = fill
			}
		}
	}
	values = append(values, a.values...)
	err := a.Close()
	a.mapping = mapping
	a.values = values
	return err
}

// Append adds a value, and doubles the room if there is none left. It fails if the disk has no room, or its file system
// cannot map files for writing; the value is not added then.
func (a *Array[T]) Append(value T) error {
	if len(a.values) == cap(a.values) {
		if err := a.reserve(max(64, 2*len(a.values)), 0); err != nil {
			return err
		}
	}
	a.values = append(a.values, value)
	return nil
}

// Truncate drops the values from the place n on. There must be as many.
func (a *Array[T]) Truncate(n int) { a.values = a.values[:n] }

// Values returns the values in place, which may be changed. They are valid until the next Append and until Close. A nil
// array has none.
func (a *Array[T]) Values() []T {
	if a == nil {
		return nil
	}
	return a.values
}

// Close gives the memory back and leaves the array empty; of a nil array it does nothing. It returns the error of
// unmapping.
func (a *Array[T]) Close() error {
	if a == nil {
		return nil
	}
	m := a.mapping
	a.mapping = nil
	a.values = nil
	if m == nil {
		return nil
	}
	return m.Close()
}
