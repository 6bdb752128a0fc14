package endtoend

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// The generator of Go clients; the others are pinned by realclients.
const oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

// TestDocument gives the document that a server serves to the tools that people have:
// a linter, a fuzzer, and generators of clients, each of which adds a passage and finds it.
func TestDocument(t *testing.T) {
	t.Parallel()
	node, modules := realclients.Node(t)
	python := realclients.Python(t)
	bin := func(name string) string { return filepath.Join(filepath.Dir(python), name) }
	server := realclients.Server(t, realclients.ServerOptions{})
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "generated"))); err != nil {
		t.Fatal(err)
	}
	download(t, server+"/openapi.json", filepath.Join(folder, "openapi.json"))
	run := func(t *testing.T, interpreter string, args ...string) (printed string) {
		t.Helper()
		return realclients.Run(
			t,
			realclients.Command{Interpreter: interpreter, Args: args, Dir: folder, Env: []string{"SERVER=" + server}},
		)
	}
	module := func(path ...string) string { return filepath.Join(append([]string{modules}, path...)...) }

	t.Run("lint", func(t *testing.T) {
		run(
			t,
			node,
			module("@stoplight", "spectral-cli", "dist", "index.js"),
			"lint",
			"--fail-severity",
			"hint",
			"--ruleset",
			"spectral.yaml",
			"openapi.json",
		)
	})
	t.Run("TypeScript", func(t *testing.T) {
		run(t, node, module("openapi-typescript", "bin", "cli.js"), "openapi.json", "-o", "api.d.ts")
		run(t, node, module("typescript", "bin", "tsc"), "-p", ".")
		if err := os.Rename(filepath.Join(folder, "search.js"), filepath.Join(folder, "search.mjs")); err != nil {
			t.Fatal(err)
		}
		expect(t, run(t, node, "search.mjs"), "kite/ts 1\n")
	})
	t.Run("Python", func(t *testing.T) {
		run(t, bin("openapi-python-client"), "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "api")
		expect(t, run(t, python, "search.py"), "kite/py 1\n")
	})
	t.Run("Go", func(t *testing.T) {
		path, err := exec.LookPath("go")
		if err != nil {
			t.Fatal(err)
		}
		api := filepath.Join("go", "api", "api.go")
		if err := os.Mkdir(filepath.Join(folder, "go", "api"), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, path, "run", oapiCodegen, "-generate", "types,client,skip-prune", "-package", "api", "-o", api, "openapi.json")
		expect(t, run(t, path, "-C", "go", "run", "."), "kite/go 1\n")
	})
	t.Run("fuzz", func(t *testing.T) {
		// More take longer: CONCLAVE_FUZZ_EXAMPLES=50.
		examples := os.Getenv("CONCLAVE_FUZZ_EXAMPLES")
		if examples == "" {
			examples = "10"
		}
		printed := run(t, bin("schemathesis"), "--config-file", "schemathesis.toml", "run", server+"/openapi.json",
			"--exclude-path-regex", `^/v1/collections/[{]collection[}]/`, // the same by another path
			"--max-examples", examples, "--seed", "1", "--generation-database", ":memory:", "--no-color")
		if !strings.Contains(printed, "Stateful") || strings.Contains(printed, "❌") {
			t.Errorf("%s", printed)
		}
	})
}

func expect(t *testing.T, printed, want string) {
	t.Helper()
	if printed != want {
		t.Errorf("printed %q, want %q", printed, want)
	}
}

func download(t *testing.T, url, file string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode == http.StatusOK {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
}
