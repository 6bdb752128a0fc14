package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store/folder/internal/manifest"

	"github.com/zeebo/xxh3"
)

// forgetfulDisk is the real disk, which beside it keeps what would be left
// after a power cut: the content that files had when they were last synced, and
// the names that folders had when they were. At operation number cutAt it stops
// doing anything.
//
// Files are known by their inode, so that it sees through renames and through
// writers that use the file system themselves.
type forgetfulDisk struct {
	disk.OS
	t       testing.TB
	cutAt   int
	mu      sync.Mutex // of all that follows
	N       int
	log     []string
	content map[uint64][]byte            // synced content of files
	names   map[uint64]map[string]uint64 // synced names of folders
	held    map[uint64]*os.File          // keeps inodes from being used again
	renamed *rename                      // the last one that was not synced
	logs    []*forgetfulFile             // that were made
}

type rename struct {
	folder, file uint64
	from, to     string
}

func newForgetfulDisk(t testing.TB, cutAt int) *forgetfulDisk {
	d := &forgetfulDisk{
		t:       t,
		cutAt:   cutAt,
		content: map[uint64][]byte{},
		names:   map[uint64]map[string]uint64{},
		held:    map[uint64]*os.File{},
	}
	t.Cleanup(d.letGo)
	return d
}

// MemoryDir returns a temporary folder in memory where there is such a thing: these
// tests make thousands of files, and that the real disk is synced adds nothing.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "conclave-test-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (d *forgetfulDisk) letGo() {
	for _, f := range d.held {
		_ = f.Close()
	}
	d.held = nil
}

func (d *forgetfulDisk) step(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.N++
	if d.N >= d.cutAt {
		return errCut
	}
	d.log = append(d.log, fmt.Sprintf(format, args...))
	return nil
}

// isCut reports whether the operation just refused was the one that was cut.
func (d *forgetfulDisk) isCut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.N == d.cutAt
}

// inode returns the inode of a path, which is held from now on.
func (d *forgetfulDisk) inode(path string) uint64 {
	d.t.Helper()
	ino, ok := d.inodeOf(path)
	if !ok {
		d.t.Fatalf("there is no %s", path)
	}
	return ino
}

// inodeOf returns the same, and false where there is none: another goroutine may just have
// removed it.
func (d *forgetfulDisk) inodeOf(path string) (ino uint64, found bool) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false
	}
	if err != nil {
		d.t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	ino = info.Sys().(*syscall.Stat_t).Ino
	if d.held[ino] != nil {
		_ = f.Close()
	} else {
		d.held[ino] = f
	}
	return ino, true
}

func (d *forgetfulDisk) Mkdir(path string) error {
	if err := d.step("mkdir %s", path); err != nil {
		return err
	}
	return d.OS.Mkdir(path)
}

func (d *forgetfulDisk) WriteFile(path string, data []byte) error {
	if err := d.step("write %s", path); err != nil {
		return err
	}
	return d.OS.WriteFile(path, data)
}

func (d *forgetfulDisk) SyncFile(path string) error {
	if err := d.step("sync %s", path); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	ino := d.inode(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.content[ino] = data
	return nil
}

func (d *forgetfulDisk) SyncDir(path string) error {
	if err := d.step("sync folder %s", path); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	names := map[string]uint64{}
	for _, e := range entries {
		if ino, found := d.inodeOf(filepath.Join(path, e.Name())); found {
			names[e.Name()] = ino
		}
	}
	folder := d.inode(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names[folder] = names
	if d.renamed != nil && d.renamed.folder == folder {
		d.renamed = nil
	}
	return nil
}

func (d *forgetfulDisk) Rename(from, to string) error {
	if err := d.step("rename %s %s", from, to); err != nil {
		return err
	}
	folder, file := d.inode(filepath.Dir(from)), d.inode(from)
	d.mu.Lock()
	d.renamed = &rename{folder, file, filepath.Base(from), filepath.Base(to)}
	for _, f := range d.logs {
		if f.path == from {
			f.path = to
		}
	}
	d.mu.Unlock()
	return d.OS.Rename(from, to)
}

func (d *forgetfulDisk) Link(from, to string) error {
	if err := d.step("link %s %s", from, to); err != nil {
		return err
	}
	return d.OS.Link(from, to)
}

func (d *forgetfulDisk) Create(path string) (disk.File, error) {
	if err := d.step("create %s", path); err != nil {
		return nil, err
	}
	file, err := d.OS.Create(path)
	f := &forgetfulFile{file, d, path}
	d.logs = append(d.logs, f)
	return f, err
}

// forgetfulFile is a file of a log. A write that is cut leaves half of it.
type forgetfulFile struct {
	disk.File
	disk *forgetfulDisk
	path string
}

func (f *forgetfulFile) Write(b []byte) (int, error) {
	if err := f.disk.step("append %d bytes to %s", len(b), f.path); err != nil {
		if f.disk.isCut() {
			n, _ := f.File.Write(b[:len(b)/2])
			return n, err
		}
		return 0, err
	}
	return f.File.Write(b)
}

func (f *forgetfulFile) Sync() error {
	f.disk.mu.Lock()
	cut := f.disk.N+1 >= f.disk.cutAt
	f.disk.mu.Unlock()
	if cut {
		return f.disk.step("sync %s", f.path)
	}
	return f.disk.SyncFile(f.path)
}

func (d *forgetfulDisk) RemoveAll(path string) error {
	if err := d.step("remove %s", path); err != nil {
		return err
	}
	if exists(path) {
		_ = filepath.Walk(path, func(path string, _ os.FileInfo, err error) error {
			if err == nil {
				d.inodeOf(path)
			}
			return nil
		})
	}
	return d.OS.RemoveAll(path)
}

// Forgotten writes to a new folder what a cut leaves of the folder at path when
// everything is lost that was not synced: names and contents.
func (d *forgetfulDisk) Forgotten(path string) string {
	out := filepath.Join(memoryDir(d.t), "disk")
	d.restore(d.inode(path), out)
	return out
}

// hasty does what forgotten does, but that the last rename made it to the disk
// before everything else that was not synced.
func (d *forgetfulDisk) hasty(path string) string {
	if r := d.renamed; r != nil {
		before := d.names[r.folder]
		after := maps.Clone(before)
		if after == nil {
			after = map[string]uint64{}
		}
		delete(after, r.from)
		after[r.to] = r.file
		d.names[r.folder] = after
		defer func() { d.names[r.folder] = before }()
	}
	return d.Forgotten(path)
}

func (d *forgetfulDisk) restore(ino uint64, to string) {
	names, isFolder := d.names[ino]
	info, err := d.held[ino].Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	if !info.IsDir() {
		if err := os.WriteFile(to, d.content[ino], 0o644); err != nil { // empty when it was never synced
			d.t.Fatal(err)
		}
		return
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		d.t.Fatal(err)
	}
	if isFolder {
		for _, name := range slices.Sorted(maps.Keys(names)) {
			d.restore(names[name], filepath.Join(to, name))
		}
	}
}

// emptied writes to a new folder what a cut leaves when all names were written
// in time and of the contents only those that were synced: what some file
// systems do.
func (d *forgetfulDisk) emptied(path string) string {
	return d.copied(path, func(at string) []byte { return d.content[d.inode(at)] })
}

// kept writes to a new folder what a kill leaves: everything.
func (d *forgetfulDisk) kept(path string) string {
	return d.copied(path, func(at string) []byte {
		data, err := os.ReadFile(at)
		if err != nil {
			d.t.Fatal(err)
		}
		return data
	})
}

func (d *forgetfulDisk) copied(path string, content func(at string) []byte) string {
	out := filepath.Join(memoryDir(d.t), "disk")
	err := filepath.Walk(path, func(at string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(out, at[len(path):])
		if info.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		return os.WriteFile(to, content(at), 0o644)
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// image returns a fingerprint of what a cut left, but for the random name of the
// collection, so that what was looked at before need not be again.
func image(t testing.TB, dir string) string {
	t.Helper()
	h := xxh3.New()
	files := map[string]string{}
	if exists(dir) {
		files = tree(t, dir)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		if m, err := manifest.Decode([]byte(content)); err == nil {
			m.ID = ""
			data, _ := m.Encode()
			content = string(data)
		}
		_, _ = fmt.Fprintf(h, "%s %d\n%s", name, len(content), content)
	}
	return fmt.Sprint(h.Sum128())
}
