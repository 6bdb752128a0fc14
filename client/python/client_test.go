// Package python tests the Python client against a server.
package python

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

// TestClient builds the package, checks its style and types, and runs test_client.py
// against a server, through connections that break, and against a server that refuses
// what comes too often.
func TestClient(t *testing.T) {
	python := realclients.Python(t)
	run := func(env []string, args ...string) {
		t.Helper()
		realclients.Run(t, realclients.Command{Interpreter: python, Args: args, Dir: ".", Env: env})
	}
	run(nil, "-m", "ruff", "format", "--check", "--no-cache", "--quiet", ".")
	run(nil, "-m", "ruff", "check", "--no-cache", "--quiet", ".")
	run(nil, "-m", "mypy", "--cache-dir", t.TempDir(), "src", "test_client.py")
	// Elsewhere: a build leaves files beside what it builds.
	source, installed := t.TempDir(), t.TempDir()
	if err := os.CopyFS(source, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	run(
		nil,
		"-m",
		"pip",
		"install",
		"--quiet",
		"--no-index",
		"--no-deps",
		"--no-build-isolation",
		"--disable-pip-version-check",
		"--target",
		installed,
		source,
	)
	if _, err := os.Stat(filepath.Join(installed, "conclave_client", "py.typed")); err != nil {
		t.Error(err)
	}
	environment := []string{"PYTHONPATH=" + installed}
	t.Run("calls", func(t *testing.T) {
		url := realclients.Server(t, realclients.ServerOptions{Change: realclients.Marker(t)})
		flaky, _ := realclients.Flaky(t, url)
		run(environment, "test_client.py", "calls", url, flaky)
	})
	t.Run("administers", func(t *testing.T) {
		url := realclients.Server(t, realclients.ServerOptions{
			Passages: realclients.Enough(t),
			Change: func(config *configs.Config) {
				config.Unanswered.Keep = 10
				config.Answered.Keep = 10
				config.Answered.Askers = 1
			},
		})
		run(environment, "test_client.py", "administers", url)
	})
	t.Run("busy", func(t *testing.T) {
		run(
			environment,
			"test_client.py",
			"busy",
			realclients.Server(t, realclients.ServerOptions{Change: func(config *configs.Config) {
				config.Rate.Requests = 1
				config.Rate.Window = time.Second
			}}),
		)
	})
}
