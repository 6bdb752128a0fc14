package serving

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// storeFiles are the files that are kept for what is not a connection: the
	// collection's log, segments that are flushed and merged, models, and what
	// waits of uploads' answers.
	storeFiles = 128
	// mostConnections is the default on a machine that allows any number of files:
	// each takes some memory too.
	mostConnections = 4096
	// leastConnections is the fewest connections with which a server is of use.
	leastConnections = 8
)

// defaultConnections is how many connections may be open when nobody says: the
// files that this process may open, less those of the store, which has at least
// half of a small number.
func defaultConnections() (int, error) {
	files, err := openFiles()
	if err != nil {
		return 0, err
	}
	most := connectionsWithin(files)
	if most < leastConnections {
		return 0, fmt.Errorf("this process may open %d files, which is too few to serve with: raise it to 1024 (ulimit -n 1024)", files)
	}
	return most, nil
}

// connectionsWithin is how many connections a server takes of a process that may
// open so many files.
func connectionsWithin(files uint64) int {
	files = min(files, mostConnections+storeFiles)
	return int(files - min(storeFiles, (files+1)/2))
}

// openFiles is how many files this process may open. Go has raised it to the most
// that is allowed.
func openFiles() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("asking how many files may be open: %w", err)
	}
	return uint64(limit.Cur), nil
}
