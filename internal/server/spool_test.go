package server

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/internal/provision"
)

// TestLostSpools: a spool of a process that has ended is removed with the next one, and one in use stays.
func TestLostSpools(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, err := makeSpool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost, err := makeSpool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost.unlock() // as the system does when a process ends
	if err := os.WriteFile(filepath.Join(lost.path, "1"), []byte("page"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(os.TempDir(), "conclave-other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, provision.LockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := makeSpool(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{used.path: true, lost.path: false, next.path: true, other: true} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, s := range []*spool{used, next} {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.path); !os.IsNotExist(err) {
			t.Error(err)
		}
	}
}
