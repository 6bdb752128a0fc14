package documents

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWalk: a folder that is named is read though it is a link; links in it are said and left out.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"wiki/a.md": "a", "wiki/deep/b.md": "b", "elsewhere.md": "c"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link": "wiki", "wiki/out.md": "../elsewhere.md"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, root := range []string{"wiki", "link"} {
		var found, skipped []string
		err := Walk(t.Context(), filepath.Join(dir, root), limits(), func(f File) error {
			found = append(found, f.Path)
			return nil
		}, func(path, _ string) { skipped = append(skipped, path) })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found, []string{"a.md", "deep/b.md"}) || !slices.Equal(skipped, []string{"out.md"}) {
			t.Errorf("%s: %q, left out %q", root, found, skipped)
		}
	}
}
