package documents

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// TestWalkRoots: files of several roots with the same path are told apart by the names of their
// folders, the first keeps its own, and what cannot be told apart is refused with both files.
func TestWalkRoots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	for _, name := range []string{"README.md", "docs/README.md", "docs/a.md", "wiki/README.md", "wiki/docs/README.md"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	walk := func(roots ...string) (map[string]string, error) {
		found := map[string]string{}
		var all []string
		for _, root := range roots {
			all = append(all, filepath.Join(dir, root))
		}
		err := WalkRoots(t.Context(), all, limits(), func(_ string, f File) error {
			data, err := f.Data()
			found[f.Path] = string(data)
			return err
		}, nil)
		return found, err
	}
	for _, c := range []struct {
		roots []string
		want  map[string]string
	}{
		{[]string{"docs", "README.md"}, map[string]string{
			"README.md": "docs/README.md", "a.md": "docs/a.md", "project/README.md": "README.md",
		}},
		{[]string{"README.md", "docs"}, map[string]string{
			"README.md": "README.md", "a.md": "docs/a.md", "docs/README.md": "docs/README.md",
		}},
	} {
		if got, err := walk(c.roots...); err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%q: %v %q, want %q", c.roots, err, got, c.want)
		}
	}
	for _, roots := range [][]string{{"wiki", "docs"}, {"docs", "docs"}} {
		_, err := walk(roots...)
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "docs", "README.md")) {
			t.Errorf("%q: %v", roots, err)
		}
	}
}
