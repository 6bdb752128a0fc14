// Package originals keeps copies of the files that documents were read from, by their SHA-256, in a folder beside a
// collection's segments, and removes those that no document uses any more.
//
// A copy is durable before the passages of its document are written, and is removed after they are gone. A process that
// ends in between leaves a copy without a document, which the next Sweep removes.
package originals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"example.org/conclave/internal/disk"
)

// FolderName is the name of the folder of copies in a collection's folder.
const FolderName = "originals"

// making begins the name of a copy that is being written.
const making = "tmp-"

// Folder holds the copies of one collection. It is safe for concurrent use; one process writes to it.
type Folder struct {
	disk  disk.Disk
	above string // the collection's folder
	dir   string
	// allow returns an error if so many more bytes may not be kept; nil: any may.
	allow func(more int64) error

	mu      sync.Mutex
	uses    map[string]int  // uses by Keep until release, by sum
	touched map[string]bool // sums that Keep was called for since the last Sweep began
	bytes   int64           // of all copies
}

// Open returns the copies of the collection in a folder; the folder of copies is made by the first Keep. allow is
// asked before so many more bytes are kept, and its error refuses them; nil allows all. Open returns an error if
// the copies cannot be listed.
func Open(d disk.Disk, collection string, allow func(more int64) error) (*Folder, error) {
	f := &Folder{
		disk: d, above: collection, dir: filepath.Join(collection, FolderName), allow: allow,
		uses: map[string]int{}, touched: map[string]bool{},
	}
	entries, err := f.listEntries()
	for _, e := range entries {
		if info, infoErr := e.Info(); infoErr == nil && !strings.HasPrefix(e.Name(), making) {
			f.bytes += info.Size()
		}
	}
	return f, err
}

// listEntries returns the entries of the folder; nil, without an error, if there is no folder. It fails if the folder
// cannot be read.
func (f *Folder) listEntries() ([]fs.DirEntry, error) {
	entries, err := f.disk.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the kept files: %w", err)
	}
	return entries, nil
}

// Bytes returns the size of all copies.
func (f *Folder) Bytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}

// Keep implements keeping.Originals: it stores a copy of a file durably, unless there is one already. The copy
// stays at least until release is called, which may be done several times, and then for as long as a document of
// the collection has it. The error is that of allow or of the disk; release is nil then.
func (f *Folder) Keep(data []byte) (release func(), err error) {
	hash := sha256.Sum256(data)
	sum := hex.EncodeToString(hash[:])
	f.mu.Lock()
	f.uses[sum]++
	f.touched[sum] = true
	f.mu.Unlock()
	release = sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.uses[sum]--
		if f.uses[sum] == 0 {
			delete(f.uses, sum)
		}
	})
	if err := f.storeCopy(sum, data); err != nil {
		release()
		return nil, fmt.Errorf("keeping a copy of the file: %w", err)
	}
	return release, nil
}

// storeCopy writes a copy that has this sum, unless one of its length is there, and makes it durable; it makes the
// folder if need be. It fails, and leaves nothing, if f.allow refuses its bytes or it cannot be written.
func (f *Folder) storeCopy(sum string, data []byte) (err error) {
	path := filepath.Join(f.dir, sum)
	if info, err := f.disk.Stat(path); err == nil && info.Size() == int64(len(data)) {
		return f.disk.SyncDir(f.dir) // its writer may have ended before it did
	}
	if f.allow != nil {
		if err := f.allow(int64(len(data))); err != nil {
			return err
		}
	}
	if _, err := f.disk.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		if err := f.disk.Mkdir(f.dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := f.disk.SyncDir(f.above); err != nil {
		return err
	}
	to, err := f.disk.CreateTemp(f.dir, making+"*")
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	if err == nil {
		err = to.Sync()
	}
	err = errors.Join(err, to.Close())
	if err == nil {
		err = f.nameCopy(to.Name(), path, int64(len(data)))
	}
	if err != nil {
		return errors.Join(err, f.disk.RemoveAll(to.Name()))
	}
	return f.disk.SyncDir(f.dir)
}

// nameCopy renames a copy that was written from its temporary name from to to, and adds size to f.bytes unless a file
// of that name existed. It fails if the file cannot be renamed.
func (f *Folder) nameCopy(from, to string, size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.disk.Stat(to)
	if err := f.disk.Rename(from, to); err != nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.bytes += size
	}
	return nil
}

// Sweep removes the copies that no document uses, and the rests of copies that were being written. used returns the
// sums of all documents that were acknowledged before it was called; copies that Keep was called for meanwhile
// stay. It returns how many it removed, also with an error.
func (f *Folder) Sweep(
	ctx context.Context,
	used func(context.Context) (map[string]bool, error),
) (removed int, err error) {
	f.mu.Lock()
	f.touched = map[string]bool{}
	for sum := range f.uses {
		f.touched[sum] = true
	}
	f.mu.Unlock()
	entries, err := f.listEntries() // before the documents: what comes later is touched
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	wanted, err := used(ctx)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if wanted[e.Name()] {
			continue
		}
		gone, err := f.removeCopy(e)
		if err != nil {
			return removed, fmt.Errorf("removing a kept file: %w", err)
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}

// removeCopy removes the file of a copy, or of one whose writing was interrupted, and returns true. It returns false
// without an error if the file is gone already or was in use since the Sweep began; unfinished files stay as long as
// any copy is in use. It fails if the file cannot be removed.
func (f *Folder) removeCopy(e fs.DirEntry) (gone bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	unfinished := strings.HasPrefix(e.Name(), making)
	if f.touched[e.Name()] || unfinished && len(f.uses) > 0 {
		return false, nil
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = f.disk.Remove(filepath.Join(f.dir, e.Name()))
	}
	if err == nil && !unfinished {
		f.bytes -= info.Size()
	}
	return err == nil, err
}
