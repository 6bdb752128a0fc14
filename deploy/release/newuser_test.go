package main

import (
	"compress/flate"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
)

// TestNewUser takes a new user's ways (try) with the archive and the wheels of the program of this source, compiled for
// this machine and packed quickly: unpacked and started without a network, and installed by pip. What pip fetches from
// the package index it keeps in the cache of this machine.
func TestNewUser(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes the demo twice")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the steps are Linux's")
	}
	testenv.Base(t, "int8")
	kept, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	platform := runtime.GOOS + "-" + runtime.GOARCH
	r := Release{
		Version: "0.0.1", Time: time.Unix(1_700_000_000, 0).UTC(), Source: filepath.Join("..", ".."),
		Parts: t.TempDir(), Out: t.TempDir(), Level: flate.BestSpeed,
	}
	parts := filepath.Join(r.Parts, platform)
	run := func(name string, args ...string) []byte {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Env = append(os.Environ(), "ORDER=archive pip", "PIP_CACHE_DIR="+filepath.Join(kept, "pip"))
		var log testenv.Buffer
		command.Stderr = &log
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, log.String())
		}
		return out
	}
	program := filepath.Join(parts, "conclave")
	run("go", "build", "-o", program, "../../cmd/conclave")
	write(t, program+".cdx.json", "{}")
	write(t, filepath.Join(parts, "licences", "go", "LICENSE"), "Go's")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		write(t, filepath.Join(r.Parts, "completions", shell), string(run(program, "completion", shell)))
	}
	cache, err := provision.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	var log testenv.Buffer
	if err := r.Make(t.Context(), cache, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	t.Logf("%s", run("./try", r.Out))
}

// TestInstallLines compares the commands for pip that the documents show with docs/commands/pip.sh,
// which TestNewUser runs, and finds no command that would take a package of conclave's by its name
// from the package index, where somebody else may have registered it.
func TestInstallLines(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	lines := strings.Split(strings.TrimSpace(read("docs/commands/pip.sh")), "\n")
	for name, wanted := range map[string][]string{
		"README.md": lines[1:], "docs/quickstart.md": lines[1:], "docs/operators.md": lines,
	} {
		for _, line := range wanted {
			if !strings.Contains(read(name), line) {
				t.Errorf("%s does not have %q", name, line)
			}
		}
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	byName := regexp.MustCompile(`(?m)pip install[ \t](?:[^\n\x60]*[ \t])?['"]?conclave(-\w+)?(?:[\['"\x60\s]|$)`)
	for _, page := range append(pages, filepath.Join("..", "..", "README.md"), filepath.Join("python", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range byName.FindAllString(string(text), -1) {
			t.Errorf("%s: %q would fetch a package of that name from the index", page, found)
		}
	}
}
