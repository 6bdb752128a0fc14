package documents

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confinement bounds the memory of this process.
type confinement struct {
	memory  int64    // bytes for a file, in addition to the start and three times the file
	atStart int64    // bytes of address space
	heap    int64    // bytes that the runtime had at the start
	statm   *os.File // of the process; nil: there is none
	room    int64    // the bytes beyond the start that are allowed now
}

// lessUrgent is the nice value of a process that reads files, so that searches are answered first.
const lessUrgent = 5

// confine bounds the memory of this process and takes away its access to files, network, other programs and other
// processes. What the system does not support is skipped, but it is an error if the memory cannot be bounded. yields
// also lowers the priority.
func confine(memory int64, yields bool) (*confinement, error) {
	_ = time.Now().Local() // reads the time zone
	c := &confinement{memory: memory, heap: runtimeBytes()}
	if yields && unix.Getpgrp() == os.Getpid() {
		_ = unix.Setpriority(unix.PRIO_PGRP, 0, lessUrgent)
	}
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return nil, fmt.Errorf("bound the memory of the reader of files: %w", err)
	}
	c.statm = statm
	c.atStart, err = c.mapped()
	if err != nil {
		return nil, fmt.Errorf("bound the memory of the reader of files: %w", err)
	}
	for _, none := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE} {
		_ = unix.Setrlimit(none, &unix.Rlimit{})
	}
	if err := c.allow(0); err != nil {
		return nil, err
	}
	forbidCalls()
	return c, nil
}

// mapped returns the size of the process's address space in bytes.
func (c *confinement) mapped() (int64, error) {
	var text [128]byte
	n, err := c.statm.ReadAt(text[:], 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	first, _, _ := bytes.Cut(text[:n], []byte(" "))
	pages, err := strconv.ParseInt(string(first), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// allow sets the bound of memory for the next file, which has so many bytes.
func (c *confinement) allow(file int) error {
	room := roomFor(c.memory, file)
	if room == c.room {
		return nil
	}
	limitHeap(c.heap, room)
	var l syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_AS, &l); err != nil {
		return fmt.Errorf("bound the memory of the reader of files: %w", err)
	}
	l.Cur = min(uint64(c.atStart+room), l.Max)
	if err := syscall.Setrlimit(unix.RLIMIT_AS, &l); err != nil {
		return fmt.Errorf("bound the memory of the reader of files to %d bytes: %w", l.Cur, err)
	}
	c.room = room
	return nil
}

// grown returns how many bytes of address space were added since the start; 0 if that cannot be read.
func (c *confinement) grown() int64 {
	now, err := c.mapped()
	if err != nil {
		return 0
	}
	return now - c.atStart
}
