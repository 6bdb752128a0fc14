package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
)

// site is a collection, with the registers of its servers.
type site struct {
	// start returns the register of a server that starts, and what cuts it off from all others,
	// as its death does, and undoes that.
	start func(t *testing.T) (r Register, cut func(bool))
	// beside returns the register of a further server beside one that lives.
	beside func(t *testing.T, r Register) Register
	// fail lets one operation below the registers fail, by its number from 1, or all from that on;
	// count returns how many there were.
	fail  func(at int, lasting bool)
	count func() int
}

const shortBeat = 100 * time.Millisecond

// folderSite returns a collection in a folder.
func folderSite(t *testing.T) *site {
	faults := &faults{}
	dir := filepath.Join(t.TempDir(), "jobs")
	return &site{
		start: func(t *testing.T) (Register, func(bool)) {
			d := &faultyDisk{OS: disk.OS{}, faults: faults}
			f, err := OpenFolder(d, dir, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			return f, d.cut.Store
		},
		beside: func(_ *testing.T, r Register) Register { return r }, // one process
		fail:   faults.set,
		count:  faults.counted,
	}
}

// storeSite returns a collection in a store, whose servers give a sign of life every beat.
func storeSite(beat time.Duration) *site {
	all := &memory{}
	start := func(*testing.T) (Register, func(bool)) {
		w := &wire{memory: all}
		s := NewShared(way{w, 0}, way{w, 1})
		s.working.Beat = beat
		return s, w.cut.Store
	}
	return &site{
		start:  start,
		beside: func(t *testing.T, _ Register) Register { r, _ := start(t); return r },
		fail:   all.faults.set,
		count:  all.faults.counted,
	}
}

// atEach runs a subtest for a collection in a folder, and one for a collection in a store.
func atEach(t *testing.T, beat time.Duration, test func(t *testing.T, s *site)) {
	t.Run("folder", func(t *testing.T) { test(t, folderSite(t)) })
	t.Run("store", func(t *testing.T) { test(t, storeSite(beat)) })
}

// faults chooses which operation fails.
type faults struct {
	mu      sync.Mutex
	at, n   int
	lasting bool
}

// set lets the operation with this number fail, from 1 on, and with lasting all after it; 0: none. It counts from 0
// again.
func (f *faults) set(at int, lasting bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.lasting = at, lasting
	f.n = 0
}

// counted returns the number of operations since set.
func (f *faults) counted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// next counts an operation, and reports whether it fails.
func (f *faults) next() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return f.at > 0 && (f.n == f.at || f.lasting && f.n > f.at)
}

// faultyDisk is a disk of which operations fail with EIO, of writes behind half of them. It does
// not sync, which takes long.
type faultyDisk struct {
	disk.OS
	faults *faults
	cut    atomic.Bool
}

// fails counts an operation, and returns EIO if it fails or the disk is cut off.
func (d *faultyDisk) fails() error {
	if d.faults.next() || d.cut.Load() {
		return syscall.EIO
	}
	return nil
}

func (d *faultyDisk) Mkdir(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.OS.Mkdir(path)
}

func (d *faultyDisk) CreateTemp(folder, pattern string) (disk.File, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	f, err := d.OS.CreateTemp(folder, pattern)
	return &faultyFile{f, d}, err
}

func (d *faultyDisk) Rename(from, to string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *faultyDisk) SyncDir(string) error { return d.fails() }

func (d *faultyDisk) Remove(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.OS.Remove(path)
}

func (d *faultyDisk) RemoveAll(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.OS.RemoveAll(path)
}

type faultyFile struct {
	disk.File
	disk *faultyDisk
}

// Write writes all of b, or half of it if the operation fails.
func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.disk.fails(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultyFile) Sync() error { return f.disk.fails() }

func (f *faultyFile) Close() error {
	err := f.disk.fails()
	return errors.Join(err, f.File.Close())
}

// memory is the registers that several servers have: of the jobs, and of who works.
type memory struct {
	mu      sync.Mutex
	data    [2][]byte
	version [2]int
	faults  faults
}

// wire is one server's way to them.
type wire struct {
	*memory
	cut atomic.Bool
}

// way is the way to one of them.
type way struct {
	*wire
	to int
}

var errCut = errors.New("nobody answers")

// Read implements lease.Register over one of the wire's registers.
func (w way) Read(context.Context) ([]byte, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut.Load() || w.faults.next() {
		return nil, "", errCut
	}
	if w.version[w.to] == 0 {
		return nil, "", nil
	}
	return slices.Clone(w.data[w.to]), fmt.Sprint(w.version[w.to]), nil
}

// Write implements lease.Register. Every second operation that fails writes all the same, as if only the answer were
// lost.
func (w way) Write(_ context.Context, data []byte, version string) (string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut.Load() {
		return "", false, errCut
	}
	failed := w.faults.next()
	if failed && w.faults.n%2 == 0 { // else it is written, and nobody says so
		return "", false, errCut
	}
	if has := fmt.Sprint(w.version[w.to]); version != has && (version != "" || w.version[w.to] > 0) {
		return has, false, nil
	}
	w.data[w.to] = slices.Clone(data)
	w.version[w.to]++
	if failed {
		return "", false, errCut
	}
	return fmt.Sprint(w.version[w.to]), true, nil
}
