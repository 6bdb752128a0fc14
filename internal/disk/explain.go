package disk

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Explain returns an error of the file system with advice on what a person can do about it. It returns other errors,
// and nil, as they are.
func Explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf(
			"%w: the disk is full; free some space and start again (the collection is as it was before)", err,
		)
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf(
			"%w: files of this size are not allowed (ulimit -f, or the file system's limit); the collection is as it was before",
			err,
		)
	case errors.Is(err, syscall.EROFS), errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: the folder must be writable for this user; reading and serving need no such right", err)
	}
	return err
}
