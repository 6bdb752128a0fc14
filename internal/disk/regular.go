package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNotRegular is the error of a path that is no regular file, or a link to something else: a pipe may block for ever,
// and a device may never end.
var ErrNotRegular = errors.New("not a regular file")

// TooLargeError is the error of a file that is larger than the limit for its kind.
type TooLargeError struct {
	Path       string
	Size, Most int64 // bytes
}

// Error names the file, its size and the limit in bytes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes; at most %d are read", e.Path, e.Size, e.Most)
}

// OpenRegular opens a regular file for reading, without blocking. It returns an error that wraps ErrNotRegular for a
// pipe, folder or device, or the error of opening it, such as fs.ErrNotExist.
func OpenRegular(path string) (*os.File, error) {
	// Without O_NONBLOCK a pipe waits here until somebody writes to it.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// ReadRegular returns the content of a regular file. It returns ErrNotRegular for a pipe, folder or device, and a
// *TooLargeError for more than most bytes.
func ReadRegular(path string, most int64) ([]byte, error) {
	file, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readBounded(path, file, most)
}

// ReadRegularIn returns the content of a regular file in files. It returns an error that wraps ErrNotRegular for a
// pipe, folder or device, and a *TooLargeError for more than most bytes.
func ReadRegularIn(files fs.FS, name string, most int64) ([]byte, error) {
	file, err := OpenRegularIn(files, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readBounded(name, file, most)
}

// OpenRegularIn opens a regular file in files for reading. It returns an error that wraps ErrNotRegular for a pipe,
// folder or device, without opening it, or the error of files, such as fs.ErrNotExist.
func OpenRegularIn(files fs.FS, name string) (fs.File, error) {
	// Opening a pipe would wait: what it is, is asked first.
	info, err := fs.Stat(files, name)
	if err == nil {
		err = checkRegular(name, info)
	}
	if err != nil {
		return nil, err
	}
	return files.Open(name)
}

// readBounded returns the content of an open file from where it stands to its end; the caller closes the file. It
// returns a *TooLargeError, with path, if the file has more than most bytes, or the error of reading.
func readBounded(path string, file fs.File, most int64) ([]byte, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, &TooLargeError{Path: path, Size: info.Size(), Most: most}
	}
	// Files of /proc, which say that they are empty, and files that grow end at the bound.
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := file.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		case int64(len(data)) > most:
			return nil, &TooLargeError{Path: path, Size: int64(len(data)), Most: most}
		case len(data) == cap(data):
			data = append(data, 0)[:len(data)]
		}
	}
}

// checkRegular returns nil if info is that of a regular file, otherwise an error that wraps ErrNotRegular and says what
// path is, such as a folder or a pipe.
func checkRegular(path string, info fs.FileInfo) error {
	mode := info.Mode()
	what := "something else"
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fmt.Errorf("%s is %s, %w", path, what, ErrNotRegular)
}
