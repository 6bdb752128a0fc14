package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrepare prepares a release in a copy of what git knows of this repository: every place has its version, its
// changes have a section, and it cannot be prepared again once it is released.
func TestPrepare(t *testing.T) {
	root := filepath.Join("..", "..")
	folder := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.c",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.c")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	for _, name := range []string{
		"go.mod", "go.work", "CHANGELOG.md", "training/pyproject.toml", "client/python/pyproject.toml",
		"training/src/conclave_train/__init__.py", "cmd/conclave/main.go", "handlers/schema/openapi.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), string(text))
	}
	changed := strings.Repeat("- Something that people notice was changed.\n", 30)
	write(t, filepath.Join(folder, "CHANGELOG.md"),
		"# Changelog\n\n## Unreleased\n\n"+changed+"\n## 0.1.0 (2026-11-28)\n\n- All.\n")
	script, err := os.ReadFile("prepare")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "deploy/release/prepare"), string(script))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "all"}} {
		if out, err := run("git", args...); err != nil {
			t.Fatal(out)
		}
	}
	for _, bad := range []string{"", "1.2", "one", "1.2.3-beta"} {
		if out, err := run("bash", "deploy/release/prepare", bad); err == nil {
			t.Errorf("%q was taken: %s", bad, out)
		}
	}
	for range 2 { // the second time finds it done
		if out, err := run("bash", "deploy/release/prepare", "7.8.9"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for name, want := range map[string]string{
		"go.mod":                       "/client/go v7.8.9\n",
		"go.work":                      "/client/go v7.8.9 =>",
		"CHANGELOG.md":                 "## Unreleased\n\n## 7.8.9 (",
		"training/pyproject.toml":      "\nversion = \"7.8.9\"\n",
		"client/python/pyproject.toml": "\nversion = \"7.8.9\"\n",
		"training/src/conclave_train/__init__.py": "__version__ = \"7.8.9\"\n",
		"cmd/conclave/main.go":                    "\nvar version = \"7.8.9\"\n",
		"handlers/schema/openapi.yaml":            "\n  version: \"7.8.9\"\n",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || strings.Count(string(text), want) != 1 {
			t.Errorf("%s does not have %q once: %v", name, want, err)
		}
	}
	changelog, err := os.ReadFile(filepath.Join(folder, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if notes, err := Notes(string(changelog), "7.8.9"); err != nil || !strings.HasPrefix(notes, "# conclave 7.8.9\n\n") ||
		len(notes) < 1000 {
		t.Errorf("its notes: %v, %s", err, notes)
	}
	if changed, err := run("git", "diff", "--stat", "--", "go.mod"); err != nil || !strings.Contains(changed, "2 +-") {
		t.Errorf("more than the version changed: %s", changed)
	}
	if out, err := run("git", "tag", "v7.8.9"); err != nil {
		t.Fatal(out)
	}
	if out, err := run("bash", "deploy/release/prepare", "7.8.9"); err == nil || !strings.Contains(out, "is released") {
		t.Errorf("%v: %s", err, out)
	}
}
