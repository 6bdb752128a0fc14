package documents

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
)

// TestDocumentID compares with ids worked out by hand.
func TestDocumentID(t *testing.T) {
	long := strings.Repeat("ü", 300) // 600 bytes
	for path, want := range map[string]string{
		"wiki/a b.md":     "wiki/a b.md",
		" a.md":           "%20a.md",
		"a.md  ":          "a.md%20%20",
		"caf\xe9.txt":     "caf%E9.txt",
		"tab\there.md":    "tab%09here.md",
		"a\u202egnp.exe":  "a%E2%80%AEgnp.exe",
		"zero\u200bwide":  "zero%E2%80%8Bwide",
		"a/../b":          "a/.%2E/b",
		"./b":             "%2E/b",
		"…/ünïcode/日本.md": "…/ünïcode/日本.md",
		// 483 bytes, so that no character is cut, and the sum of the path (printf … | sha256sum).
		long: strings.Repeat("ü", 241) + "~" + "969222e5c9d4ea66",
	} {
		if got := DocumentID(path); got != want {
			t.Errorf("%q has the id %q, not %q", path, got, want)
		}
	}
}

// TestDocumentIDsAreAllowed: whatever a path is, its passages can have the id, and other paths have others.
func TestDocumentIDsAreAllowed(t *testing.T) {
	const seed = 51
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"a", "/", "..", ".", " ", "\xff", "\u202e", "\x00", "é", "日本", "\n", "#", strings.Repeat("x", 200)}
	paths := map[string]string{}
	for range 5000 {
		var path strings.Builder
		for range 1 + random.IntN(8) {
			path.WriteString(pieces[random.IntN(len(pieces))])
		}
		id := DocumentID(path.String())
		p := corpus.Passage{ID: corpus.PassageID(id, 1_000_000), Text: "x"}
		if err := p.Check(); err != nil {
			t.Fatalf("seed %d: %q: %v", seed, path.String(), err)
		}
		if before, taken := paths[id]; taken && before != path.String() {
			t.Fatalf("seed %d: %q and %q both have the id %q", seed, before, path.String(), id)
		}
		paths[id] = path.String()
	}
}

// TestOwnedIDs: a file keeps the id that the collection has it under, and takes none of a document from elsewhere.
func TestOwnedIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		writeFile(t, filepath.Join(dir, name), name)
	}
	mark, err := RootOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{
		"a.md": "another", "b.md": "another", "one/b.md": "a third", "c.md": "another", "one/c.md": mark,
	}
	walking := Walking{Limits: limits(), Owner: func(m, id string) (own, other bool) {
		owner := owners[id]
		return owner == m, owner != "" && owner != m
	}}
	var got []string
	err = walking.Files(t.Context(), []string{dir}, func(_ string, f FoundFile) error {
		if f.Renamed == "" {
			t.Errorf("nothing says why %s has another id", f.Path)
		}
		got = append(got, f.Path)
		return nil
	})
	above := filepath.Base(filepath.Dir(dir))
	if want := []string{"one/a.md", above + "/one/b.md", "one/c.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %q, want %q", err, got, want)
	}
}

// TestGitIgnore compares with git itself: of a tree with patterns of every kind in files at several places, the
// files that git would add are found.
func TestGitIgnore(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gitignore":     "# built\n*.log\n!keep.log\n/build/\ndocs/**/draft-*\nspace\\ \n\\#hash\n[ab]x.md\n",
		"sub/.gitignore": "!again.log\nlocal.md\r\n",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	for _, name := range []string{
		"a.log", "keep.log", "sub/again.log", "sub/b.log", "build/x.md", "sub/build/x.md", "docs/draft-1.md",
		"docs/a/b/draft-2.md", "docs/final.md", "space ", "#hash", "ax.md", "cx.md", "local.md", "sub/local.md",
		"sub/deep/local.md", "node_modules/p/README.md",
	} {
		writeFile(t, filepath.Join(dir, name), "text")
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	git("init", "-q")
	var want []string
	for _, name := range strings.Split(git("ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
		if name != "" && !strings.Contains(name, ".git") && !strings.HasPrefix(name, "node_modules") {
			want = append(want, name)
		}
	}
	var got []string
	reasons := map[string]string{}
	walking := Walking{Limits: limits(), GitIgnore: true, Skipped: func(_ string, s Skip) {
		reasons[s.Path] = s.Why
		if !s.Ignored {
			t.Errorf("%s could not be read: %s", s.Path, s.Why)
		}
	}}
	err := walking.Files(t.Context(), []string{dir}, func(_ string, f FoundFile) error {
		got = append(got, f.Path)
		return nil
	})
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
	if !strings.Contains(reasons["node_modules"], "npm") || !strings.Contains(reasons["a.log"], ".gitignore") {
		t.Errorf("the reasons are %q", reasons)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
