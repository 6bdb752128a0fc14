package folder

import (
	"errors"
	"fmt"
	"slices"
)

// errNoRoom is the error of a merge that waits for free disk.
var errNoRoom = errors.New("too little free disk to merge")

// mergeReserve is the least free disk that a merge leaves, as a share of what it
// needs itself: for the log and the flushes at the same time, and because a
// larger graph may take a few more bytes for each vector.
const mergeReserve = 0.25

// checkRoom returns an error (errNoRoom) if the disk has not enough free bytes to merge these segments. It returns nil
// if the free space is unknown.
func (w *writer) checkRoom(names []string) error {
	free, known := w.disk.Free(w.dir)
	if !known {
		return nil
	}
	m := w.snapshot()
	need := int64(0)
	for i := range m.Segments {
		if slices.Contains(names, m.Segments[i].Name) {
			for _, f := range m.Segments[i].Files() {
				need += f.Size
			}
		}
	}
	if wanted := need + int64(mergeReserve*float64(need)); free < wanted {
		return fmt.Errorf(
			"%w: %d segments of %d bytes want %d free, and %d are; searches go over all of them meanwhile", errNoRoom,
			len(names), need, wanted, free,
		)
	}
	return nil
}
