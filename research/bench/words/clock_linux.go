package words

import (
	"syscall"
	"time"
)

const rusageThread = 1 // RUSAGE_THREAD, which package syscall does not name

// ThreadTime returns the processor time that the calling thread has used, or 0 if the system does not tell; hold the
// thread (runtime.LockOSThread) between two calls. Unlike the time of day it does not count what other programs on
// the machine took.
func ThreadTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(rusageThread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
