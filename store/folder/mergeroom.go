package folder

import (
	"errors"
	"fmt"
	"slices"
)

// errNoRoom is the error of a merge that waits for free disk.
var errNoRoom = errors.New("too little free disk to merge")

// mergeReserve is what a merge leaves of the free disk at least, as a share of
// what it needs itself: for the log and the flushes beside it, and because a
// larger graph may take a few bytes more a vector.
const mergeReserve = 0.25

// roomFor returns an error when the named segments should not be merged now, since
// there is too little free disk. A merge that filled the disk would be undone, but
// it would first have taken away the room that acknowledging changes needs.
//
// A merge needs at most the bytes that its segments have: the result holds the
// same passages, postings and vectors without the deleted ones, and there are no
// temporary files. There is one merge at a time. At any instant the disk holds
// the live segments, the log, and at most what one merge replaces, what one
// flush makes, and what readers have pinned.
func (w *writer) roomFor(names []string) error {
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
			"%w: %d segments of %d bytes want %d free, and %d are; searches go over all of them meanwhile",
			errNoRoom,
			len(names),
			need,
			wanted,
			free,
		)
	}
	return nil
}
