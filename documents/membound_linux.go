package documents

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// memoryBound bounds the address space of a worker process from outside, so that the process cannot change it.
type memoryBound struct {
	pid     int
	memory  int64 // bytes for a file, in addition to the start and to three times the file
	atStart int64 // bytes of address space before the first file
	room    int64 // bytes in addition to atStart that are allowed now
}

// boundMemory limits the address space of the process pid to its present size plus the memory for an empty file. The
// result changes the limit for later files. memory is ServeOptions.Memory; with 0 there is no limit. It fails if the
// process is gone or the limit cannot be set.
func boundMemory(pid int, memory int64) (*memoryBound, error) {
	b := &memoryBound{pid: pid, memory: memory}
	if memory == 0 {
		return b, nil
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		b.atStart, err = parseMapped(statm)
	}
	if err != nil {
		return nil, fmt.Errorf("bound the memory of the reader of files: %w", err)
	}
	return b, b.allow(0)
}

// allow sets the bound for reading a file of so many bytes, but never above the process's hard limit. It does
// nothing if there is no bound or it is set already. After an error the bound is what it was.
func (b *memoryBound) allow(file int) error {
	room := roomFor(b.memory, file)
	if b.memory == 0 || room == b.room {
		return nil
	}
	var limit unix.Rlimit
	err := unix.Prlimit(b.pid, unix.RLIMIT_AS, nil, &limit)
	if err == nil {
		limit.Cur = min(uint64(b.atStart+room), limit.Max)
		err = unix.Prlimit(b.pid, unix.RLIMIT_AS, &limit, nil)
	}
	if err != nil {
		return fmt.Errorf("bound the memory of the reader of files to %d bytes: %w", b.atStart+room, err)
	}
	b.room = room
	return nil
}

// parseMapped returns the size of an address space in bytes, as the text of /proc/PID/statm has it: its first
// number, in pages. It fails if that is no number.
func parseMapped(statm []byte) (int64, error) {
	first, _, _ := bytes.Cut(statm, []byte(" "))
	pages, err := strconv.ParseInt(string(first), 10, 64)
	return pages * int64(os.Getpagesize()), err
}
