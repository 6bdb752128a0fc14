package indexing

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoomOfAParent: the disk is that of the nearest folder that is there.
func TestRoomOfAParent(t *testing.T) {
	here := t.TempDir()
	free := func(path string) (int64, bool) {
		_, err := os.Stat(path)
		return 5, err == nil && path == here
	}
	if err := checkRoom(free, filepath.Join(here, "a", "b"), 6); err == nil || !strings.Contains(err.Error(), "6 bytes") ||
		!strings.Contains(err.Error(), "5 bytes") {
		t.Error(err)
	}
	if err := checkRoom(free, filepath.Join(here, "a", "b"), 5); err != nil {
		t.Error(err)
	}
}
