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
		walking := Walking{Limits: limits(), Skipped: func(_ string, s Skip) { skipped = append(skipped, s.Path) }}
		err := walking.Files(t.Context(), []string{filepath.Join(dir, root)}, func(_ string, f FoundFile) error {
			found = append(found, f.Path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found, []string{"a.md", "deep/b.md"}) || !slices.Equal(skipped, []string{"out.md"}) {
			t.Errorf("%s: %q, left out %q", root, found, skipped)
		}
	}
}

// TestFilesOfSeveralRoots: files of several roots with the same path are told apart by the names of their
// folders, the first keeps its own, and a file that two roots have is refused.
func TestFilesOfSeveralRoots(t *testing.T) {
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
		err := Walking{Limits: limits()}.Files(t.Context(), all, func(_ string, f FoundFile) error {
			data, err := f.Data()
			found[f.Path] = string(data)
			return err
		})
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
	// wiki/docs/README.md has the id that docs/README.md would have.
	got, err := walk("wiki", "docs")
	want := map[string]string{
		"README.md": "wiki/README.md", "docs/README.md": "wiki/docs/README.md", "a.md": "docs/a.md",
		"project/docs/README.md": "docs/README.md",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v %q, want %q", err, got, want)
	}
	for _, roots := range [][]string{{"docs", "docs"}, {".", "docs"}} {
		_, err := walk(roots...)
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "docs", "README.md")) {
			t.Errorf("%q: %v", roots, err)
		}
	}
}
