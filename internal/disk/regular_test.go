package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadRegular: a link to a device, a pipe that nobody writes to, a folder, and a file
// larger than allowed are refused at once; others are read whole.
func TestReadRegular(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("file"), []byte("12345"), 0o600), os.WriteFile(at("empty"), nil, 0o600), os.Mkdir(at("folder"), 0o700),
		unix.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("device")), os.Symlink("pipe", at("to-pipe")), os.Symlink("file", at("to-file")), os.Symlink("nowhere", at("nowhere-link"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"folder", "pipe", "device", "to-pipe"} {
		for kind, read := range map[string]func() ([]byte, error){
			"by path":     func() ([]byte, error) { return ReadRegular(at(name), 10) },
			"in a folder": func() ([]byte, error) { return ReadRegularIn(os.DirFS(dir), name, 10) },
		} {
			if data, err := read(); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s, %s: %d bytes, %v", name, kind, len(data), err)
			}
		}
	}
	for name, want := range map[string]string{"file": "12345", "to-file": "12345", "empty": ""} {
		if data, err := ReadRegular(at(name), 5); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if data, err := ReadRegularIn(os.DirFS(dir), name, 5); err != nil || string(data) != want {
			t.Errorf("%s, in a folder: %q, %v", name, data, err)
		}
	}
	var large *TooLargeError
	if _, err := ReadRegular(at("file"), 4); !errors.As(err, &large) || large.Size != 5 || large.Most != 4 {
		t.Errorf("5 bytes where 4 are allowed: %v", err)
	}
	for _, name := range []string{"nowhere", "nowhere-link"} {
		if _, err := ReadRegular(at(name), 4); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file that says it is empty and is not.
	if data, err := ReadRegular("/proc/self/maps", 1<<20); err == nil && len(data) == 0 {
		t.Error("/proc/self/maps was read as empty")
	}
	if _, err := ReadRegular("/proc/self/maps", 10); err == nil {
		t.Error("/proc/self/maps was read beyond the bound")
	}
}
