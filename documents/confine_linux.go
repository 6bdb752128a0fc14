package documents

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// confinement keeps the memory of this process low. The process that reads its answers bounds it (memoryBound).
type confinement struct {
	memory  int64    // bytes for a file, in addition to the start and three times the file
	atStart int64    // bytes of address space
	heap    int64    // bytes that the runtime had at the start
	statm   *os.File // of the process
}

// lessUrgent is the nice value of a process that reads files, so that searches are answered first.
const lessUrgent = 5

// confine takes away, for good, this process's access to the network, other programs, other processes, its own limits
// and all files that are not open. It skips what the operating system does not support, and fails if the size of the
// process cannot be read. The confinement keeps the heap low while a file is read (allow): reading may take memory
// bytes and three times the file's size, in addition to what the process has now. yields also lowers the priority of
// the process group if this process leads it.
func confine(memory int64, yields bool) (*confinement, error) {
	_ = time.Now().Local() // reads the time zone
	c := &confinement{memory: memory, heap: runtimeBytes()}
	if yields && unix.Getpgrp() == os.Getpid() {
		_ = unix.Setpriority(unix.PRIO_PGRP, 0, lessUrgent)
	}
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return nil, fmt.Errorf("read the memory of the reader of files: %w", err)
	}
	c.statm = statm
	c.atStart, err = c.mapped()
	if err != nil {
		return nil, fmt.Errorf("read the memory of the reader of files: %w", err)
	}
	for _, none := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE} {
		_ = unix.Setrlimit(none, &unix.Rlimit{})
	}
	c.allow(0)
	forbidCalls()
	return c, nil
}

// mapped returns the size of this process's address space in bytes. It fails if /proc/self/statm cannot be read.
func (c *confinement) mapped() (int64, error) {
	var text [128]byte
	n, err := c.statm.ReadAt(text[:], 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	return parseMapped(text[:n])
}

// allow makes the garbage collector keep the heap within what this process may have while it reads a file of so many
// bytes.
func (c *confinement) allow(file int) { limitHeap(c.heap, roomFor(c.memory, file)) }

// grown returns how many bytes of address space were added since the start; 0 if that cannot be read.
func (c *confinement) grown() int64 {
	now, err := c.mapped()
	if err != nil {
		return 0
	}
	return now - c.atStart
}
