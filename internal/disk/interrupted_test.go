package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUninterrupted: an interrupted call is made again, and not without end.
func TestUninterrupted(t *testing.T) {
	calls := 0
	if err := Uninterrupted(func() error {
		if calls++; calls < 4 {
			return unix.EINTR
		}
		return nil
	}); err != nil || calls != 4 {
		t.Errorf("%d calls, %v", calls, err)
	}
	calls = 0
	if err := Uninterrupted(func() error { calls++; return unix.EINTR }); !errors.Is(err, unix.EINTR) ||
		calls != interruptions {
		t.Errorf("%d calls, %v", calls, err)
	}
	calls = 0
	if err := Uninterrupted(func() error { calls++; return unix.ENOSPC }); !errors.Is(err, unix.ENOSPC) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestMkdirAll compares with package os.
func TestMkdirAll(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.WriteFile("file", nil, 0o600), os.Mkdir("there", 0o700), os.Symlink("there", "link"), os.Symlink("nowhere", "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/b/c", "there", "there/x/", "link/y", "./z/../z/w", ".", "/", "file", "file/x", "dangling", "dangling/x", ""} {
		own, std := filepath.Join("own", path), filepath.Join("std", path)
		for _, root := range []string{"own", "std"} {
			_ = os.RemoveAll(root)
			if err := errors.Join(os.Mkdir(root, 0o700), os.WriteFile(root+"/file", nil, 0o600), os.Mkdir(root+"/there", 0o700), os.Symlink("there", root+"/link"), os.Symlink("nowhere", root+"/dangling")); err != nil {
				t.Fatal(err)
			}
		}
		a := MkdirAll(own, 0o750)
		b := os.MkdirAll(std, 0o750)
		for _, kind := range []error{fs.ErrExist, fs.ErrNotExist, unix.ENOTDIR} {
			if errors.Is(a, kind) != errors.Is(b, kind) {
				t.Errorf("%q: %v, and package os %v", path, a, b)
			}
		}
		x, _ := os.Stat(own)
		y, _ := os.Stat(std)
		if (a == nil) != (b == nil) || (x == nil) != (y == nil) || x != nil && x.Mode() != y.Mode() {
			t.Errorf("%q: %v and %v, %v and %v", path, a, b, x, y)
		}
	}
}
