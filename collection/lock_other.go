//go:build !unix

package collection

import (
	"errors"
	"os"
)

const lockName = "LOCK"

// ErrLocked is the error when another process writes to the collection.
var ErrLocked = errors.New("another writer has the collection")

func lock(string) (*os.File, error) {
	return nil, errors.New("writing to a collection needs flock, which this system does not have; reading and serving work")
}

func unlock(file *os.File) error { return file.Close() }
