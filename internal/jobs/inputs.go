package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Inputs stores the files that jobs read, such as uploads, until the jobs have ended, where every server that may do a
// job finds them. FolderInputs stores those of a collection in a folder.
type Inputs interface {
	// Keep stores what write writes, under a new name that begins with prefix, and calls accept with that name once the
	// input would survive a power cut. If write or accept fails, it removes the input and returns the error.
	Keep(ctx context.Context, prefix string, write func(io.Writer) error, accept func(name string) error) error
	// Open opens an input and returns its size and a function that closes it. The error is fs.ErrNotExist if the input
	// is gone.
	Open(ctx context.Context, name string) (in io.ReaderAt, bytes int64, closes func() error, err error)
	// Sweep removes the inputs for which wanted returns false, except those that Keep is still storing.
	Sweep(ctx context.Context, wanted func(ctx context.Context, name string) (bool, error)) error
}

// FolderInputs keeps inputs as files in a folder.
type FolderInputs struct {
	dir    string
	prefix string // of all names

	mu       sync.Mutex
	arriving map[string]bool // names that are not accepted yet
}

// NewFolderInputs returns the inputs in dir whose names begin with prefix. Keep makes the folder.
func NewFolderInputs(dir, prefix string) *FolderInputs {
	return &FolderInputs{dir: dir, prefix: prefix, arriving: map[string]bool{}}
}

// Keep calls write with a new file whose name begins with prefix, and then accept with that name once the file would
// survive a power cut. If write or accept fails, it removes the file and returns the error. prefix must begin with
// the prefix of NewFolderInputs. Sweep leaves the file alone until Keep returns.
func (f *FolderInputs) Keep(
	_ context.Context,
	prefix string,
	write func(io.Writer) error,
	accept func(name string) error,
) (err error) {
	if !strings.HasPrefix(prefix, f.prefix) {
		return fmt.Errorf("an input of the name %q: names of inputs begin with %q", prefix, f.prefix)
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	file, err := f.createFile(prefix)
	if err != nil {
		return err
	}
	name := filepath.Base(file.Name())
	defer func() {
		_ = file.Close()
		if err != nil {
			_ = os.Remove(file.Name()) // else Sweep does
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.arriving, name)
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close(), syncFolder(f.dir)); err != nil {
		return err
	}
	return accept(name)
}

// createFile creates an empty file named prefix, random digits and .zip, and marks it as still arriving, so that
// Sweep does not remove it. It fails if the folder is missing or cannot be written.
func (f *FolderInputs) createFile(prefix string) (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.CreateTemp(f.dir, prefix+"*.zip")
	if err == nil {
		f.arriving[filepath.Base(file.Name())] = true
	}
	return file, err
}

// syncFolder makes the names in a folder durable (fsync). It fails if the folder does not exist.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Open opens an input, and returns it with its size in bytes and the function that closes it. The error is
// fs.ErrNotExist if the input is gone. Folders in name are ignored.
func (f *FolderInputs) Open(_ context.Context, name string) (io.ReaderAt, int64, func() error, error) {
	file, err := os.Open(filepath.Join(f.dir, filepath.Base(name)))
	if err != nil {
		return nil, 0, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, nil, errors.Join(err, file.Close())
	}
	return file, info.Size(), file.Close, nil
}

// Sweep removes the inputs for which wanted returns false, except those that Keep is still storing. An input for
// which wanted fails stays; the others are still looked at, and all errors are returned. A missing folder has no
// inputs.
func (f *FolderInputs) Sweep(ctx context.Context, wanted func(context.Context, string) (bool, error)) error {
	left, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range left {
		name := e.Name()
		if !strings.HasPrefix(name, f.prefix) || f.isArriving(name) {
			continue
		}
		is, err := wanted(ctx, name)
		if err == nil && !is {
			err = os.Remove(filepath.Join(f.dir, name))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// isArriving reports whether Keep is still writing this input.
func (f *FolderInputs) isArriving(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.arriving[name]
}
