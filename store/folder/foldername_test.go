package folder

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/store"
)

// TestFolderNames: a collection and a snapshot that are new begin with a letter or a digit;
// what is there is opened whatever its name.
func TestFolderNames(t *testing.T) {
	t.Chdir(t.TempDir())
	passages := randomPassages(1, 3)
	for _, name := range []string{"-rf", "a/-rf", "_x", ".x", "./-"} {
		if _, err := Build(context.Background(), name, &list{passages: passages}, store.BuildOptions{}); err == nil ||
			!strings.Contains(err.Error(), "letter or a digit") {
			t.Errorf("a collection %q: %v", name, err)
		}
	}
	for _, name := range []string{"rf", "7", "Ähren", "索引"} {
		if _, err := Build(context.Background(), name, &list{passages: passages}, store.BuildOptions{}); err != nil {
			t.Errorf("a collection %q: %v", name, err)
		}
	}
	if _, err := Snapshot(t.Context(), "rf", "-rf"); err == nil || !strings.Contains(err.Error(), "letter or a digit") {
		t.Errorf("a snapshot -rf: %v", err)
	}
	if err := os.Rename("rf", "-rf"); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), "-rf", nil); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	if _, err := Snapshot(t.Context(), "-rf", filepath.Join("snapshots", "monday")); err != nil {
		t.Errorf("a snapshot of it: %v", err)
	}
}
