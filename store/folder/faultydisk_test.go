package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"

	"example.org/conclave/internal/disk"
)

// faultyDisk is a disk of which chosen operations fail, and do nothing then but
// for half of a write.
type faultyDisk struct {
	disk.Disk

	mu     sync.Mutex
	choose func(n int, op, path string) error // nil: none fails; n counts from 1
	armed  func(n int, op, path string) error // choose, from arm on
	n      int
	failed []string // what failed
}

// onOperation lets operation number at fail, and all behind it when forever.
func onOperation(at int, errno syscall.Errno, forever bool) func(int, string, string) error {
	return func(n int, _, _ string) error {
		if n == at || forever && n > at {
			return errno
		}
		return nil
	}
}

// atRandom lets one in so many operations fail.
func atRandom(rng *rand.Rand, oneIn int, errnos ...syscall.Errno) func(int, string, string) error {
	return func(int, string, string) error {
		if rng.IntN(oneIn) == 0 {
			return errnos[rng.IntN(len(errnos))]
		}
		return nil
	}
}

// inject chooses what fails from now on, and counts the operations (n) from 1 again; nil: nothing fails.
func (d *faultyDisk) inject(choose func(n int, op, path string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.choose, d.n = choose, 0
}

func (d *faultyDisk) arm() { d.inject(d.armed) }

// count returns the operations since inject, and what of them failed at any time.
func (d *faultyDisk) count() (n int, failed []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n, d.failed
}

func (d *faultyDisk) step(op, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.n++
	if d.choose == nil {
		return nil
	}
	err := d.choose(d.n, op, path)
	if err == nil {
		return nil
	}
	if len(d.failed) < 20 {
		d.failed = append(d.failed, fmt.Sprintf("%d %s %s: %v", d.n, op, path, err))
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

// after does what does not fail.
func after[T any](d *faultyDisk, op, path string, do func(string) (T, error)) (T, error) {
	if err := d.step(op, path); err != nil {
		var none T
		return none, err
	}
	return do(path)
}

func (d *faultyDisk) Mkdir(path string) error {
	return d.only("mkdir", path, d.Disk.Mkdir)
}

func (d *faultyDisk) only(op, path string, do func(string) error) error {
	if err := d.step(op, path); err != nil {
		return err
	}
	return do(path)
}

func (d *faultyDisk) ReadDir(path string) ([]fs.DirEntry, error) {
	return after(d, "readdir", path, d.Disk.ReadDir)
}

func (d *faultyDisk) Stat(path string) (fs.FileInfo, error) {
	return after(d, "stat", path, d.Disk.Stat)
}

func (d *faultyDisk) ReadFile(path string) ([]byte, error) {
	return after(d, "read file", path, d.Disk.ReadFile)
}

func (d *faultyDisk) Map(path string) (*disk.Mapping, error) {
	return after(d, "map", path, d.Disk.Map)
}

func (d *faultyDisk) WriteFile(path string, data []byte) error {
	if err := d.step("write file", path); err != nil {
		_ = d.Disk.WriteFile(path, data[:len(data)/2])
		return err
	}
	return d.Disk.WriteFile(path, data)
}

func (d *faultyDisk) SyncFile(path string) error { return d.only("sync", path, d.Disk.SyncFile) }

func (d *faultyDisk) SyncDir(path string) error { return d.only("sync folder", path, d.Disk.SyncDir) }

func (d *faultyDisk) Remove(path string) error { return d.only("remove", path, d.Disk.Remove) }

func (d *faultyDisk) RemoveAll(path string) error {
	return d.only("remove all", path, d.Disk.RemoveAll)
}

func (d *faultyDisk) Rename(from, to string) error {
	return d.only("rename", to, func(string) error { return d.Disk.Rename(from, to) })
}

func (d *faultyDisk) Link(from, to string) error {
	return d.only("link", to, func(string) error { return d.Disk.Link(from, to) })
}

func (d *faultyDisk) file(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, d}, nil
}

func (d *faultyDisk) Open(path string) (disk.File, error) {
	return d.file(after(d, "open", path, d.Disk.Open))
}

func (d *faultyDisk) CreateFile(path string) (disk.File, error) {
	return d.file(after(d, "create", path, d.Disk.CreateFile))
}

func (d *faultyDisk) Create(path string) (disk.File, error) {
	return d.file(after(d, "create", path, d.Disk.Create))
}

func (d *faultyDisk) OpenAppend(path string) (disk.File, error) {
	return d.file(after(d, "open", path, d.Disk.OpenAppend))
}

func (d *faultyDisk) CreateTemp(folder, pattern string) (disk.File, error) {
	return d.file(
		after(d, "create", folder, func(string) (disk.File, error) { return d.Disk.CreateTemp(folder, pattern) }),
	)
}

// faultyFile is an open file of a faultyDisk.
type faultyFile struct {
	disk.File
	disk *faultyDisk
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.disk.step("write", f.Name()); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.step("write", f.Name()); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f *faultyFile) Read(b []byte) (int, error) {
	if err := f.disk.step("read", f.Name()); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *faultyFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.disk.step("read", f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

func (f *faultyFile) Sync() error {
	if err := f.disk.step("sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Close() error {
	return errors.Join(f.disk.step("close", f.Name()), f.File.Close())
}
