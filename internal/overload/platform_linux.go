package overload

import (
	"time"

	"golang.org/x/sys/unix"
)

// acknowledgedBytes returns how many bytes the client's system has acknowledged so far; ok is false if this system does
// not know.
func (c *Connection) acknowledgedBytes() (bytes int64, ok bool) {
	c.withDescriptor(func(fd int) {
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			bytes = int64(info.Bytes_acked)
			ok = true
		}
	})
	return bytes, ok
}

// hasEnded reports whether the client will send nothing more (ended), and whether it has closed the connection
// altogether (left). left becomes known only after something was sent to the client.
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

// threadTime returns the processor time of the calling thread; 0 if it is not known.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
