package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/internal/testing/testenv"
)

// clientsFolder has the programs of docs/clients.md, a file each.
const clientsFolder = "testdata/clients"

// documented runs the programs of docs/clients.md, and its commands for bash, against a server of the demo.
func documented(t *testing.T, python, url string) {
	root := testenv.Root(t)
	files, err := filepath.Glob(filepath.Join(clientsFolder, "*"))
	if err != nil || len(files) != 8 {
		t.Fatalf("%q, %v", files, err)
	}
	packages := filepath.Join(root, "client", "python", "src") + ":" + filepath.Join(root, "client", "integrations")
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		own := filepath.Join(dir, filepath.Base(file))
		program := strings.ReplaceAll(string(code), "http://127.0.0.1:8080", url)
		if err := os.WriteFile(own, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		command := realclients.Command{Interpreter: python, Args: []string{own}, Dir: dir, Env: []string{
			"PYTHONPATH=" + packages, "HAYSTACK_TELEMETRY_ENABLED=False",
		}}
		if filepath.Ext(file) == ".go" {
			command = realclients.Command{Interpreter: "go", Args: []string{"run", own}, Dir: root}
		}
		said := realclients.Run(t, command)
		for _, want := range map[string][]string{
			"search.py": {"found 0.9", "answer: ten to fifteen minutes in Health at home", "unknown_passage"},
			"plain.py":  {"found 0.9", "answer: ten to fifteen minutes in health.pdf#2"},
			"search.go": {"The Fox and the Borrowed Moon"}, "with_langchain.py": {"The Fox and the Borrowed Moon"},
			"with_llama_index.py": {"The Fox and the Borrowed Moon"}, "with_haystack.py": {"The Fox and the Borrowed Moon"},
			"several.py": {"tales.pdf#", "photosynthesis.md#1"}, "vectors.py": {"(2, 384)"},
		}[filepath.Base(file)] {
			if !strings.Contains(said, want) {
				t.Errorf("%s does not print %q:\n%s", file, want, said)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("(?ms)^```bash\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(commands) != 1 {
		t.Fatalf("%q", commands)
	}
	dir := t.TempDir()
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c",
		strings.ReplaceAll(commands[0][1], "127.0.0.1:8080", strings.TrimPrefix(url, "http://")))
	shell.Dir = dir
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", commands[0][1], err, out)
	}
	checkVectors(t, python, dir)
}

// checkVectors has numpy read what curl stored.
func checkVectors(t *testing.T, python, dir string) {
	t.Helper()
	if printed := realclients.Run(t, realclients.Command{Interpreter: python, Dir: dir, Args: []string{"-c", `
import numpy
vectors = numpy.load("vectors.npy")
print(vectors.shape, vectors.dtype, (abs((vectors ** 2).sum(axis=1) - 1) < 1e-5).all())`}}); printed != "(2, 384) float32 True\n" {
		t.Error(printed)
	}
}
