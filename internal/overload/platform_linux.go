package overload

import (
	"time"

	"golang.org/x/sys/unix"
)

// acknowledgedBytes returns how many bytes the caller's system has taken so far.
func (c *Connection) acknowledgedBytes() (bytes int64, ok bool) {
	c.withDescriptor(func(fd int) {
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			bytes = int64(info.Bytes_acked)
			ok = true
		}
	})
	return bytes, ok
}

// hasEnded reports whether the caller will send nothing more, and left whether it has closed
// the connection altogether, which is known once something was sent to it.
func (c *Connection) hasEnded() (ended, left bool) {
	const closeWait, closed = 8, 7 // states of TCP
	c.withDescriptor(func(fd int) {
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			ended = info.State == closeWait || info.State == closed
			left = info.State == closed
		}
	})
	return ended, left
}

// threadTime returns the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
