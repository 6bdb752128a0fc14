package main

import (
	"compress/flate"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
