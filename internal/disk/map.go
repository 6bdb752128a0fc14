package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Mapping is a file mapped into memory, read-only unless it is of MapScratch. Pages are read from the disk when they
// are touched, so that opening a large file costs nothing, and the system can take the memory back.
type Mapping struct {
	Data   []byte // may be narrowed to a part
	mapped []byte
}

// Map maps a file into memory; Close unmaps it. The Mapping of an empty file has no bytes. It fails for what is not
// a regular file.
func (OS) Map(path string) (*Mapping, error) {
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
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case size == 0:
		return &Mapping{}, nil
	case size != int64(int(size)):
		return nil, fmt.Errorf("%s has %d bytes, more than this machine can map", path, size)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	return &Mapping{Data: data, mapped: data}, nil
}

// Close unmaps the file; further calls do nothing and return nil. Data must not be read afterwards. The error is that
// of munmap.
func (m *Mapping) Close() error {
	if m.mapped == nil {
		return nil
	}
	data := m.mapped
	m.Data, m.mapped = nil, nil
	return os.NewSyscallError("munmap", unix.Munmap(data))
}

// ErrFault is the error of reading a part of a mapped file that is not there any more.
var ErrFault = errors.New(
	"a file that is mapped into memory cannot be read: it was cut, or its disk fails; restore it from a snapshot",
)

// Survive calls step, which reads mapped files, and returns its error. If a file was cut since it was mapped, the
// system sends SIGBUS, which would end the process; here it becomes ErrFault. Other panics of step go on. It covers the
// calling goroutine only: a step that starts others has to call Survive in each.
func Survive(step func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a runtime.Error of a fault
			err = ErrFault
		default:
			panic(failure)
		}
	}()
	return step()
}
