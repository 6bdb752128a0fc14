package provision

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// pipFull matches a message of pip about a full disk or a used-up quota, in any language. (28, 69 and 122: ENOSPC, and
// EDQUOT on macOS and Linux)
var pipFull = regexp.MustCompile(
	`\[Errno (28|69|122)\]|OSError\((28|69|122),|No space left on device|Disk quota exceeded`,
)

// ExplainFull returns an error that says that the disk of folder is full and what to do, if err has that cause. It
// returns other errors, and nil, as they are.
func ExplainFull(err error, folder string) error {
	if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return err
	}
	return fmt.Errorf(
		"the disk is full: there are %s free in %s: make room, or choose a folder elsewhere (%s for what setup fetches and makes), and run the same command again, which keeps what is there: %w",
		freeSpace(folder), folder, EnvCache, err,
	)
}

// fullWhileFetching returns the error of a download that failed since a disk was full: pip's temporary folder and dir
// are named, with their free space.
func fullWhileFetching(w Wheel, dir string) error {
	temporary := os.TempDir()
	return fmt.Errorf(
		"fetching %s %s: the disk is full: pip writes to its temporary folder %s (%s free), then to %s (%s free): make room there, or set TMPDIR and %s to folders that have some, and run the same command again, which keeps what is there",
		w.Package, w.Version, temporary, freeSpace(temporary), dir, freeSpace(dir), EnvCache,
	)
}

// freeSpace returns how much may still be written to the disk of a folder, as "12.3 MiB" for messages; for a folder
// that is not there, of the nearest one above it that is.
func freeSpace(folder string) string {
	var stat unix.Statfs_t
	for unix.Statfs(folder, &stat) != nil {
		above := filepath.Dir(folder)
		if above == folder {
			return "an unknown number of bytes"
		}
		folder = above
	}
	return fmt.Sprintf("%.1f MiB", float64(stat.Bavail)*float64(stat.Bsize)/(1<<20))
}
