package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoModule builds and vets the Go client alone, in a folder with nothing else and
// without a source of modules: it needs Go's own packages alone.
func TestGoModule(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "client")
	if err := os.CopyFS(folder, os.DirFS("go")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = folder
		command.Env = append(command.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("build", "./...")
	run("vet", "./...")
	run("test", "./...")
	if modules := strings.Fields(run("list", "-m", "all")); len(modules) != 1 {
		t.Errorf("the client needs the modules %v", modules[1:])
	}
}
