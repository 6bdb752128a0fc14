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

// documented runs the fenced blocks of docs/clients.md against a server of the demo.
func documented(t *testing.T, python, url string) {
	root := testenv.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, block := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		language := block[1]
		code := strings.ReplaceAll(block[2], "http://127.0.0.1:8080", url)
		code = strings.ReplaceAll(code, "127.0.0.1:8080", strings.TrimPrefix(url, "http://"))
		ran[language]++
		dir := t.TempDir()
		file := filepath.Join(dir, "main."+language)
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		switch language {
		case "python":
			realclients.Run(t, realclients.Command{Interpreter: python, Args: []string{file}, Dir: dir, Env: []string{
				"PYTHONPATH=" + filepath.Join(
					root, "client", "python", "src",
				) + ":" + filepath.Join(
					root,
					"client",
					"integrations",
				), "HAYSTACK_TELEMETRY_ENABLED=False"}})
		case "go", "bash":
			command := exec.CommandContext(t.Context(), "go", "run", file)
			command.Dir = root
			if language == "bash" {
				command = exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", file)
				command.Dir = dir
			}
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", code, err, out)
			}
			if language == "bash" {
				checkVectors(t, python, dir)
			}
		default:
			t.Errorf("nobody runs %s", language)
		}
	}
	if ran["python"] != 7 || ran["go"] != 1 || ran["bash"] != 1 {
		t.Errorf("ran %v", ran)
	}
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
