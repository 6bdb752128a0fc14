package originals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DamagedError says which copies of files do not have the content that their names, SHA-256s, promise.
type DamagedError struct {
	Folder string
	Names  []string
}

// Error names the folder, how many copies are damaged and which, and that their documents have to be put again.
func (e *DamagedError) Error() string {
	return fmt.Sprintf(
		"%d kept files in %s do not have the SHA-256 in their names: %s. Put their documents again",
		len(e.Names), e.Folder, strings.Join(e.Names, ", "),
	)
}

// AbsentError says of which documents the copy is gone.
type AbsentError struct {
	Folder    string
	Documents []string // ids
}

// Error names the folder and the documents, and that these have to be put again.
func (e *AbsentError) Error() string {
	return fmt.Sprintf(
		"%s has no copy of the file of these documents: %s. Put them again", e.Folder, strings.Join(e.Documents, ", "),
	)
}

// Verify compares each copy in a collection's folder with its SHA-256, and returns how many there are and their bytes.
// wanted returns the SHA-256 of each copy that a document names, with the document's id. The error is a *DamagedError
// if copies differ, an *AbsentError if one that is wanted is not there, ctx's error, or why a copy cannot be read. What
// an interruption left unfinished is no copy.
func Verify(
	ctx context.Context, collection string, wanted func(context.Context) (map[string]string, error),
) (copies int, bytes int64, err error) {
	copies, bytes, err = verifyCopies(ctx, filepath.Join(collection, FolderName))
	return copies, bytes, errors.Join(err, verifyPresent(ctx, filepath.Join(collection, FolderName), wanted))
}

// verifyPresent returns an *AbsentError if a copy that is wanted is not in a folder, or the error of wanted. It
// looks twice before it says so: a writer may remove a document and then its copy meanwhile.
func verifyPresent(ctx context.Context, dir string, wanted func(context.Context) (map[string]string, error)) error {
	var absent map[string]string
	for range 2 {
		documents, err := wanted(ctx)
		if err != nil {
			return err
		}
		found := map[string]string{}
		for sum, document := range documents {
			_, err := os.Stat(filepath.Join(dir, sum))
			if _, before := absent[sum]; errors.Is(err, fs.ErrNotExist) && (absent == nil || before) {
				found[sum] = document
			}
		}
		absent = found
		if len(absent) == 0 {
			return nil
		}
	}
	return &AbsentError{Folder: dir, Documents: slices.Sorted(maps.Values(absent))}
}

// verifyCopies compares each copy in a folder with its SHA-256, and returns their number and bytes. A *DamagedError
// names those that differ. Without the folder there are no copies.
func verifyCopies(ctx context.Context, dir string) (copies int, bytes int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	damaged := &DamagedError{Folder: dir}
	for _, e := range entries {
		if ctx.Err() != nil {
			return copies, bytes, ctx.Err()
		}
		if strings.HasPrefix(e.Name(), making) {
			continue
		}
		sum, size, err := sumOfFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, with its document
			continue
		}
		if err != nil {
			return copies, bytes, err
		}
		copies++
		bytes += size
		if sum != e.Name() {
			damaged.Names = append(damaged.Names, e.Name())
		}
	}
	if len(damaged.Names) > 0 {
		return copies, bytes, damaged
	}
	return copies, bytes, nil
}

// sumOfFile returns the SHA-256 of a file in hexadecimal digits, and its size. It fails if the file cannot be read.
func sumOfFile(path string) (sum string, size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	size, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}
