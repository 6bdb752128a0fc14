package disk

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// scratchStep is how many bytes of scratch memory are written at once. Such large writes let the page cache keep large
// pages, which the processor's address translation prefers.
const scratchStep = 4 << 20

// MapScratch returns size bytes of memory, each with the value fill, that may be read and written until Close. They lie
// in a file of the folder, so the system can write them out and take the memory back. The file has no name: it is gone
// after Close, and after the end of the process. It fails if the folder cannot be written, the disk has no room, or the
// file system cannot map files for writing. size must be above 0.
//
// The whole file is written before it is mapped. A disk without room is then an error here; memory of a sparse file
// would end the process where it is touched.
func (OS) MapScratch(folder string, size int64, fill byte) (m *Mapping, err error) {
	file, err := os.CreateTemp(folder, ".scratch"+unfinished+"*")
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = file.Close() // a mapping outlives its descriptor
		if err != nil {
			err = fmt.Errorf("making %d bytes of scratch memory in %s: %w", size, folder, err)
		}
	}()
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	step := bytes.Repeat([]byte{fill}, int(min(size, scratchStep)))
	for at := int64(0); at < size; at += int64(len(step)) {
		if _, err := file.Write(step[:min(int64(len(step)), size-at)]); err != nil {
			return nil, err
		}
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf(
			"its file system cannot map files for writing (%w): choose a folder on another file system", err,
		)
	}
	return &Mapping{Data: data, mapped: data}, nil
}
