package main

import (
	"fmt"

	"conclave/configs"

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
	// leastConnections is below what a server is of use with.
	leastConnections = 8
)

// openConnections is how many connections may be open when nobody says: the
// files that this process may open, less those of the store, which has at least
// half of a small number.
func openConnections() (int, error) {
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

// examineFiles tells how many connections a server would take.
func examineFiles(config configs.Config) finding {
	f := finding{What: "open files", Status: "ok"}
	files, err := openFiles()
	if err != nil {
		f.Status, f.Detail = "note", err.Error()
		return f
	}
	most := connectionsWithin(files)
	if set := config.Server.Connections; set > 0 {
		f.Detail = fmt.Sprintf("%d allowed; server.connections is %d", files, set)
		if set > most {
			f.Status, f.Mend = "note", fmt.Sprintf("connections could leave fewer than %d files to the collection: server.connections of at most %d, or a higher ulimit -n", storeFiles, most)
		}
		return f
	}
	f.Detail = fmt.Sprintf("%d allowed; a server takes %d connections, the rest is the collection's", files, most)
	switch {
	case most < leastConnections:
		f.Status, f.Mend = "fails", "ulimit -n 1024"
	case files < 2*storeFiles:
		f.Status, f.Mend = "note", "a higher ulimit -n allows more connections"
	}
	return f
}
