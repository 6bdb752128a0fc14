package originals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DamagedError says which copies of files do not have the content that their names, SHA-256s, promise.
type DamagedError struct {
	Folder string
	Names  []string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf(
		"%d kept files in %s do not have the SHA-256 in their names: %s. Put their documents again",
		len(e.Names), e.Folder, strings.Join(e.Names, ", "),
	)
}

// Verify compares each copy in a collection's folder with its SHA-256, and returns how many there are and their bytes.
// The error is a *DamagedError if copies differ, ctx's error, or why a copy cannot be read. What an interruption left
// unfinished is no copy.
func Verify(ctx context.Context, collection string) (copies int, bytes int64, err error) {
	dir := filepath.Join(collection, FolderName)
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

// sumOfFile returns the SHA-256 of a file in hexadecimal digits, and its size.
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
