package indexing

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/ahead"
)

// unfinishedFolder is the folder of the cache for the vectors of collections that are being indexed: a folder for each
// collection, with a file for each expert and the collection's path in collectionFile.
const (
	unfinishedFolder = "unfinished"
	collectionFile   = "collection"
)

// unfinishedVectors keeps the vectors of one run of indexing in files, so that the next run goes on where this one was
// interrupted. Without a folder it keeps nothing.
type unfinishedVectors struct {
	dir   string // "": nothing is kept
	free  func(path string) (bytes int64, known bool)
	files map[string]*ahead.Ahead // by expert
}

// openUnfinished returns the vectors that an interrupted run left for the collection; none for a store in a cluster,
// which keeps what it was sent, and where there is no cache that can be written. It first removes those of collections
// whose folder is gone. It fails if a path cannot be made absolute. The caller closes it.
func (o *Options) openUnfinished(at store.Location) (*unfinishedVectors, error) {
	u := &unfinishedVectors{free: o.freeOf(), files: map[string]*ahead.Ahead{}}
	if at.Folder() == "" {
		return u, nil
	}
	cache, err := provision.CacheAt(o.Config.Cache)
	if err != nil {
		return u, nil
	}
	collection, err := filepath.Abs(at.Folder())
	if err != nil {
		return nil, err
	}
	all := filepath.Join(cache.Root, unfinishedFolder)
	removeAbandoned(all)
	sum := sha256.Sum256([]byte(collection))
	dir := filepath.Join(all, hex.EncodeToString(sum[:8]))
	err = disk.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, collectionFile), []byte(collection), 0o600)
	}
	if err == nil {
		u.dir = dir
	}
	return u, nil
}

// removeAbandoned removes the vectors below a folder whose collection's folder is gone. What cannot be removed stays.
func removeAbandoned(all string) {
	entries, _ := os.ReadDir(all) // nil without the folder
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		collection, err := os.ReadFile(filepath.Join(dir, collectionFile))
		if err != nil {
			continue
		}
		if _, err := os.Stat(string(collection)); errors.Is(err, fs.ErrNotExist) {
			_ = os.RemoveAll(dir)
		}
	}
}

// keep returns an encoder of an expert that takes the vectors that are there, and keeps the others. resumed is called,
// unless it is nil, with their number if there are any. An expert that encodes no passages is returned as it is. It
// fails if the file cannot be opened or read.
func (u *unfinishedVectors) keep(
	e *experts.Expert, resumed func(expert string, vectors int),
) (store.PassageEncoder, error) {
	if u.dir == "" || e.Owner() != "" {
		return e, nil
	}
	path := filepath.Join(u.dir, e.Name()+".vectors")
	kept, err := ahead.OpenUnfinished(path, e, func(bytes int64) bool {
		free, known := u.free(u.dir)
		return !known || free > bytes
	})
	if err != nil {
		return nil, fmt.Errorf("opening the vectors of an interrupted run: %w", err)
	}
	u.files[e.Name()] = kept
	if n := kept.Loaded(); n > 0 && resumed != nil {
		resumed(e.Name(), n)
	}
	return kept, nil
}

// keepShared returns passes over two experts that take the vectors that are there, and keep the others.
func (u *unfinishedVectors) keepShared(all []store.SharedPass) []store.SharedPass {
	for i := range all {
		late, dense := u.files[all[i].Late.Name()], u.files[all[i].Dense.Name()]
		if late != nil && dense != nil {
			all[i].Encode = ahead.EncodeShared(late, dense, all[i].Encode)
		}
	}
	return all
}

// close closes the files, and removes them if all is indexed.
func (u *unfinishedVectors) close(indexed bool) (err error) {
	for _, f := range u.files {
		err = errors.Join(err, f.Close())
	}
	if indexed && u.dir != "" {
		err = errors.Join(err, os.RemoveAll(u.dir))
	}
	return err
}
