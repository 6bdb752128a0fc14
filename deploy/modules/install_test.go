package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// TestInstall runs `go install PATH/cmd/conclave@VERSION` as somebody without a checkout does: from a module
// proxy, with a cache of modules of its own. What others made is taken from where this machine's Go has it.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program")
	}
	root := filepath.Join("..", "..")
	proxy, home := t.TempDir(), t.TempDir()
	modules, err := writeModules(root, proxy)
	if err != nil {
		t.Fatal(err)
	}
	known, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(known))
	sources := []string{"file://" + proxy, "file://" + filepath.Join(lines[0], "cache", "download"), lines[1]}
	run := func(name string, args ...string) []byte {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = home
		command.Env = append(os.Environ(), "GOBIN="+home, "GOMODCACHE="+filepath.Join(home, "modules"),
			"GOPROXY="+strings.Join(sources, ","), "GONOSUMDB="+modules[0].Path, "GOWORK=", "GOFLAGS=-modcacherw -trimpath")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return out
	}
	run("go", "install", modules[0].Path+"/cmd/conclave@latest")
	var about struct{ Version string }
	if err := json.Unmarshal(run(filepath.Join(home, "conclave"), "version", "--json"), &about); err != nil {
		t.Fatal(err)
	}
	if "v"+about.Version != modules[0].Version {
		t.Errorf("version %q was installed, not %s", about.Version, modules[0].Version)
	}
}

// TestWorkspace: go.work has the client of the checkout in the place of the version that go.mod requires.
func TestWorkspace(t *testing.T) {
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	version, err := clientVersion(read("go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	work, err := modfile.ParseWork("go.work", read("go.work"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(work.Replace) != 1 || work.Replace[0].Old.Version != version || work.Replace[0].New.Path != "./"+clientFolder {
		t.Errorf("go.work replaces %+v, and go.mod requires %s", work.Replace, version)
	}
	for _, bad := range []string{
		"module a.b/c\n", "module a.b/c\nrequire a.b/c/client/go v1.0.0\nreplace a.b/c/client/go => ./client/go\n",
	} {
		if got, err := clientVersion([]byte(bad)); err == nil {
			t.Errorf("%q gives %s", bad, got)
		}
	}
}
