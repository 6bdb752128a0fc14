//go:build !linux

package documents

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// confinement bounds the memory of this process. Systems other than Linux do not enforce the bound, so the process
// checks it by itself.
type confinement struct {
	memory int64 // beyond the start, and beyond three times the file
	heap   int64 // bytes that the runtime had at the start
	room   chan int64
}

const (
	lessUrgent = 5                     // nice value
	lookEvery  = 20 * time.Millisecond // at the memory that there is
)

// confine bounds the memory of Go's runtime in this process. It takes nothing else away, as it does on Linux. yields
// also lowers the priority. The error is always nil.
func confine(memory int64, yields bool) (*confinement, error) {
	if yields {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lessUrgent)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	c := &confinement{memory: memory, heap: runtimeBytes(), room: make(chan int64)}
	go c.watch(roomFor(memory, 0))
	return c, nil
}

// watch kills this process when its memory exceeds the bound. It never returns.
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

// allow sets the memory that this process may have while it reads a file of so many bytes. Beyond that, watch kills it.
func (c *confinement) allow(file int) {
	room := roomFor(c.memory, file)
	limitHeap(c.heap, room)
	c.room <- room
}

// grown returns how many bytes of memory Go's runtime got since the start.
func (c *confinement) grown() int64 { return runtimeBytes() - c.heap }
