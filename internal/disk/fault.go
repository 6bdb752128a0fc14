package disk

import (
	"errors"
	"runtime/debug"
)

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
