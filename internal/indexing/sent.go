package indexing

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/ahead"
)

// keepSent returns an encoder of an expert that keeps the vectors it was sent in a file of the cache, if the expert is
// behind an HTTP interface and the collection is a folder: when indexing was interrupted, the same command does not ask
// for these again. done closes the file, and removes it if all is indexed. Another expert is returned as it is. It
// fails if the file cannot be opened.
func (o *Options) keepSent(
	at store.Location,
	e *experts.Expert,
) (encoder store.PassageEncoder, done func(indexed bool) error, err error) {
	if e.Remote() == nil || e.Owner() != "" || at.Folder() == "" {
		return e, func(bool) error { return nil }, nil
	}
	path, err := o.sentFile(at, e)
	if err != nil {
		return nil, nil, err
	}
	kept, err := ahead.OpenAhead(path, e)
	if err != nil {
		return nil, nil, err
	}
	return kept, func(indexed bool) error {
		err := kept.Close()
		if indexed {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}, nil
}

// sentFile returns the path of the file for the vectors of an expert of the collection, in a folder that it makes. It
// fails if the cache or the folder cannot be made.
func (o *Options) sentFile(at store.Location, e *experts.Expert) (string, error) {
	cache, err := provision.CacheAt(o.Config.Cache)
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs(at.Folder())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache.Root, experts.SentFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the folder for vectors of other servers: %w", err)
	}
	sum := sha256.Sum256([]byte(folder + "\n" + e.Name()))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".vectors"), nil
}
