package folder

import (
	"errors"
	"io"
	"sync"

	"example.org/conclave/internal/disk"
)

// sharedFiles keeps the open files of several generations: a file that two of them name is
// opened once, and closed with the last one. This is correct because a path always
// means the same content (see the package comment).
type sharedFiles struct {
	disk  disk.Disk
	mu    sync.Mutex
	files map[string]*sharedFile
}

type sharedFile struct {
	value io.Closer
	uses  int
}

// newShared returns an empty set of open files on a disk.
func newShared(d disk.Disk) *sharedFiles {
	return &sharedFiles{disk: d, files: map[string]*sharedFile{}}
}

// use returns the open file of a key; if none is open, it calls open and keeps what that returns. Give each
// successful use back with one drop. Other calls wait while open runs. It returns the error of open, and keeps
// nothing then.
func use[T io.Closer](s *sharedFiles, key string, open func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[key]; f != nil {
		f.uses++
		return f.value.(T), nil
	}
	value, err := open()
	if err != nil {
		return value, err
	}
	s.files[key] = &sharedFile{value: value, uses: 1}
	return value, nil
}

// drop gives back one use of each key and closes files without uses. It panics for a key that is not in use. It
// returns the errors of closing.
func (s *sharedFiles) drop(keys []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, key := range keys {
		f := s.files[key]
		if f.uses--; f.uses == 0 {
			delete(s.files, key)
			errs = append(errs, f.value.Close())
		}
	}
	return errors.Join(errs...)
}
