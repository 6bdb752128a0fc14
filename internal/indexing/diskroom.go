package indexing

import (
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/disk"
)

// RoomError says that a collection would not fit its disk.
type RoomError struct {
	Folder     string // of the collection
	Need, Free int64  // bytes; Need is estimated
}

func (e *RoomError) Error() string {
	return fmt.Sprintf(
		"what is to be indexed takes about %s more in %s, and its disk has %s free, so nothing was encoded",
		formatBytes(e.Need),
		e.Folder,
		formatBytes(e.Free),
	)
}

// formatBytes returns a number of bytes to three figures.
func formatBytes(bytes int64) string {
	value := float64(bytes)
	unit := 0
	for units := len(sizeUnits) - 1; value >= 1000 && unit < units; unit++ {
		value /= 1024
	}
	return fmt.Sprintf("%.3g %s", value, sizeUnits[unit])
}

var sizeUnits = [...]string{"bytes", "KiB", "MiB", "GiB", "TiB"}

// checkRoom returns a *RoomError where the disk of a folder has less than need bytes
// free. The folder need not be there yet.
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

// freeOf returns how much a disk has free, as it is asked for.
func (o *Options) freeOf() func(path string) (int64, bool) {
	if o.Free != nil {
		return o.Free
	}
	return disk.OS{}.Free
}
