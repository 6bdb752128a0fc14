package capacity

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// StoreFiles are the files that are kept for what is not a connection: the
	// collection's log, segments that are flushed and merged, models, and what
	// waits of uploads' answers.
	StoreFiles = 128
	// mostConnections is the default on a machine that allows any number of files:
	// each takes some memory too.
	mostConnections = 4096
	// LeastConnections is the fewest connections with which a server is of use.
	LeastConnections = 8
)

// Places are the numbers of connections that a server may have: open ones, further ones that wait until one closes, and
// further ones for health checks.
type Places struct{ Open, Waiting, Probes int }

// The most places for waiting and for health checks.
const (
	mostWaiting = 1024
	mostProbes  = 16
)

// PlacesOf returns the Places of a server whose configuration allows this number of open connections; 0: as many as
// the process's limit of open files allows, which fails if that is too few to serve with. A configured number is
// not checked against the limit.
func PlacesOf(configured int) (Places, error) {
	files, err := OpenFiles()
	if err != nil {
		return Places{}, err
	}
	p := placesWithin(files)
	if configured > 0 {
		left := int(min(files, 1<<20)) - StoreFiles - configured - mostProbes
		return Places{configured, min(max(left, p.Waiting), mostWaiting), p.Probes}, nil
	}
	if p.Open < LeastConnections {
		return p, fmt.Errorf(
			"this process may open %d files, which is too few to serve with: raise it to 1024 (ulimit -n 1024)", files,
		)
	}
	return p, nil
}

// placesWithin returns the Places of a process that may open this number of files: of those that the store leaves, a
// quarter is for waiting connections and health checks.
func placesWithin(files uint64) Places {
	files = min(files, mostConnections+mostWaiting+mostProbes+StoreFiles)
	left := int(files - min(StoreFiles, (files+1)/2))
	reserved := min(max(left/4, 2), mostWaiting+mostProbes)
	probes := min(reserved/2, mostProbes)
	return Places{left - reserved, reserved - probes, probes}
}

// MostConnections returns the largest number of open connections of a server whose process may open this number of
// files.
func MostConnections(files uint64) int { return placesWithin(files).Open }

// OpenFiles returns how many files this process may open. Go has raised the limit to the largest that is allowed. It
// fails if the system does not say.
func OpenFiles() (uint64, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("asking how many files may be open: %w", err)
	}
	return uint64(limit.Cur), nil
}
