//go:build !linux

package documents

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// confinement is what a process may have of the machine's memory. The system keeps no bound of it, so
// the process looks by itself.
type confinement struct {
	memory int64 // beyond the start, and beyond three times the file
	heap   int64 // bytes that the runtime had at the start
	room   chan int64
}

const (
	lessUrgent = 5                     // nice value
	lookEvery  = 20 * time.Millisecond // at the memory that there is
)

// confine bounds the memory that the runtime of this process takes. On systems other than Linux it takes
// nothing else from the process.
func confine(memory int64, yields bool) (*confinement, error) {
	if yields {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lessUrgent)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	c := &confinement{memory: memory, heap: runtimeBytes(), room: make(chan int64)}
	go c.watch(roomFor(memory, 0))
	return c, nil
}

// watch ends the process where it takes more memory than it may.
func (c *confinement) watch(room int64) {
	for look := time.NewTicker(lookEvery); ; {
		select {
		case room = <-c.room:
		case <-look.C:
			if runtimeBytes() > c.heap+room {
				fmt.Fprintln(os.Stderr, "out of memory")
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			}
		}
	}
}

// allow sets the bound of memory for a file of so many bytes.
func (c *confinement) allow(file int) error {
	room := roomFor(c.memory, file)
	limitHeap(c.heap, room)
	c.room <- room
	return nil
}

// grown returns how much more the process has than at its start.
func (c *confinement) grown() int64 { return runtimeBytes() - c.heap }
