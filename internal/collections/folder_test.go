package collections

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/disk"
)

// faulty is the real disk until operation number at, counted from 0: that one fails and, where it was a
// kill, all later ones.
type faulty struct {
	disk.OS
	at   int
	kill bool
	n    int
}

var errFault = errors.New("fault")

func (f *faulty) fails() error {
	n := f.n
	f.n++
	if n == f.at || f.kill && n > f.at {
		return errFault
	}
	return nil
}

func (f *faulty) Mkdir(path string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.OS.Mkdir(path)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.OS.Rename(from, to)
}

func (f *faulty) SyncDir(path string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.OS.SyncDir(path)
}

func (f *faulty) SyncFile(path string) error {
	if err := f.fails(); err != nil {
		return err
	}
	return f.OS.SyncFile(path)
}

func (f *faulty) WriteFile(path string, data []byte) error {
	if err := f.fails(); err != nil {
		_ = f.OS.WriteFile(path, data[:len(data)/2]) // as a full disk would
		return err
	}
	return f.OS.WriteFile(path, data)
}

// RemoveAll removes half of a folder where it fails.
func (f *faulty) RemoveAll(path string) error {
	if err := f.fails(); err != nil {
		_ = os.Remove(filepath.Join(path, "MANIFEST"))
		return err
	}
	return f.OS.RemoveAll(path)
}

// filled makes a collection of one text.
func filled(d disk.Disk, text string) func(dir string) error {
	return func(dir string) error {
		return errors.Join(
			d.WriteFile(filepath.Join(dir, "text"), []byte(text)), d.SyncFile(filepath.Join(dir, "text")),
			d.WriteFile(filepath.Join(dir, "MANIFEST"), nil), d.SyncDir(dir),
		)
	}
}

// textOf returns what a collection holds as the next start finds it; "": it is not there.
func textOf(t *testing.T, path, name string) string {
	t.Helper()
	f, err := OpenFolder(disk.OS{}, path, true)
	if err != nil {
		t.Fatal(err)
	}
	names, err := f.Names()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != snapshotsName {
			t.Errorf("%s is left", e.Name())
		}
	}
	if len(names) == 0 {
		if _, err := os.Stat(f.Path(name)); err == nil {
			t.Errorf("something of %s is there", name)
		}
		return ""
	}
	text, err := os.ReadFile(filepath.Join(f.Path(name), "text"))
	if err != nil {
		t.Fatal(err)
	}
	s, created, err := Read(disk.OS{}, f.Path(name))
	if err != nil || created.IsZero() || s.Quotas.Passages != 7 {
		t.Errorf("%+v %v %v", s, created, err)
	}
	return string(text)
}

// TestFaults: whatever operation fails, or is the last one, a collection is there whole or not at all; a
// success lasts; and one that is made by the name of a removed one has nothing of it.
func TestFaults(t *testing.T) {
	settings := Settings{Quotas: Quotas{Passages: 7}}
	for _, kill := range []bool{false, true} {
		for at := 0; ; at++ {
			name := fmt.Sprintf("kill %v at %d", kill, at)
			path := filepath.Join(t.TempDir(), "data")
			d := &faulty{at: at, kill: kill}
			f, err := OpenFolder(d, path, true)
			var made, removed, again error
			if err == nil {
				made = f.Create("a", settings, time.Now(), filled(d, "old"))
				if made == nil {
					if err := os.MkdirAll(filepath.Join(f.Snapshots("a"), "monday"), 0o700); err != nil {
						t.Fatal(err)
					}
					removed = f.Remove("a")
				} else if !kill {
					if has, err := f.Has("a"); has || err != nil {
						t.Errorf("%s: refused, and there: %v", name, err)
					}
				}
				again = f.Create("a", settings, time.Now(), filled(d, "new"))
			}
			got := textOf(t, path, "a")
			switch {
			case err != nil:
				if got != "" {
					t.Errorf("%s: %q", name, got)
				}
			case made != nil && got != "" && got != "old" && again != nil:
				t.Errorf("%s: %q", name, got)
			case again == nil && got != "new":
				t.Errorf("%s: %q in place of the new one", name, got)
			case made == nil && removed == nil && again != nil && got != "" && (got != "new" || !kill):
				t.Errorf("%s: %q after a removal", name, got)
			case got != "" && got != "old" && got != "new":
				t.Errorf("%s: %q", name, got)
			}
			if got == "" || got == "new" {
				if _, err := os.Stat(f.snapshotsIfAny("a")); err == nil && removed == nil && made == nil {
					t.Errorf("%s: its snapshots are left", name)
				}
			}
			if d.n <= at { // nothing failed any more
				if made != nil || removed != nil || again != nil || at < 12 {
					t.Errorf("%s: %v, %v, %v", name, made, removed, again)
				}
				break
			}
		}
	}
}

// snapshotsIfAny returns the folder of snapshots of a folder that was opened.
func (f *Folder) snapshotsIfAny(name string) string {
	if f == nil {
		return ""
	}
	return f.Snapshots(name)
}

// TestNames: what is no collection is not listed, and no name leads elsewhere.
func TestNames(t *testing.T) {
	path := t.TempDir()
	for _, at := range []string{"a", "b.c-d_1", ".hidden", "empty", "-x"} {
		if err := os.MkdirAll(filepath.Join(path, at), 0o700); err != nil {
			t.Fatal(err)
		}
		if at == "empty" {
			continue
		}
		if err := os.WriteFile(filepath.Join(path, at, "MANIFEST"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(path, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(disk.OS{}, path, false)
	if err != nil {
		t.Fatal(err)
	}
	names, err := f.Names()
	if err != nil || fmt.Sprint(names) != "[a b.c-d_1]" {
		t.Errorf("%v %v", names, err)
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/a", ".a", "-a", "é", strings.Repeat("x", 65), "a\x00"} {
		if err := CheckName(name); err == nil {
			t.Errorf("%q may name a collection", name)
		}
		if err := f.Create(name, Settings{}, time.Now(), func(string) error { return nil }); err == nil {
			t.Errorf("%q was made", name)
		}
		if has, err := f.Has(name); has || err != nil {
			t.Errorf("%q: %v %v", name, has, err)
		}
	}
	var refused *Error
	if err := f.Remove("nobody"); !errors.As(err, &refused) || refused.Code != Unknown {
		t.Error(err)
	}
}
