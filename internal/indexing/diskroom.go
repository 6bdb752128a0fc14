package indexing

import (
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/disk"
)

// RoomError is the error of a collection that would not fit its disk.
type RoomError struct {
	Folder     string // of the collection
	Need, Free int64  // bytes; Need is estimated
}

// Error names the folder, what is needed and what is free, and that nothing was encoded.
func (e *RoomError) Error() string {
	return fmt.Sprintf(
		"what is to be indexed takes about %s more in %s, and its disk has %s free, so nothing was encoded",
		formatBytes(e.Need), e.Folder, formatBytes(e.Free),
	)
}

// formatBytes returns a number of bytes with its unit, to three figures.
func formatBytes(bytes int64) string {
	value := float64(bytes)
	unit := 0
	for units := len(sizeUnits) - 1; value >= 1000 && unit < units; unit++ {
		value /= 1024
	}
	return fmt.Sprintf("%.3g %s", value, sizeUnits[unit])
}

var sizeUnits = [...]string{"bytes", "KiB", "MiB", "GiB", "TiB"}

// checkRoom returns a *RoomError if the disk of a folder has less than need bytes free, by free; of a folder that
// does not exist the one above it counts. It returns nil if the free space is not known.
func checkRoom(free func(path string) (bytes int64, known bool), folder string, need int64) error {
	path, err := filepath.Abs(folder)
	if err != nil {
		return nil // it cannot be known
	}
	for {
		if bytes, known := free(path); known {
			if bytes < need {
				return &RoomError{folder, need, bytes}
			}
			return nil
		}
		parent := filepath.Dir(path)
		if parent == path {
			return nil
		}
		path = parent
	}
}

// freeOf returns the function that tells the free bytes of a disk: o.Free, or the system's.
func (o *Options) freeOf() func(path string) (int64, bool) {
	if o.Free != nil {
		return o.Free
	}
	return disk.OS{}.Free
}
