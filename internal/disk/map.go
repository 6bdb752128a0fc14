package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// Mapping is a file in memory, read-only. Pages come from the disk when they are
// touched, so that opening a large file costs nothing, and the memory is the
// system's to reclaim.
type Mapping struct {
	Data   []byte // may be narrowed to a part
	mapped []byte
}

// Map maps a file. An empty file has no bytes to map, and is no error.
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

// Close unmaps the file. Nothing may be reading Data any more.
func (m *Mapping) Close() error {
	if m.mapped == nil {
		return nil
	}
	data := m.mapped
	m.Data, m.mapped = nil, nil
	return os.NewSyscallError("munmap", unix.Munmap(data))
}

// ErrFault is the error of reading a part of a mapped file that is no longer there.
var ErrFault = errors.New(
	"a file that is mapped into memory cannot be read: it was cut, or its disk fails; restore it from a snapshot",
)

// Survive does a step that reads mapped files. Where one was cut since it was mapped,
// the system sends SIGBUS, which would end the process; here it is the step's error.
// It covers the calling goroutine alone: a step that starts others calls Survive in
// each of them.
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
