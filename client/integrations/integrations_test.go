// Package integrations tests the retrievers for frameworks of Python.
package integrations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// TestRetrievers runs each retriever in its framework, against a server with the shipped
// encoders: the question has no word in common with the passage that answers it.
func TestRetrievers(t *testing.T) {
	python := realclients.Python(t)
	client, err := filepath.Abs(filepath.Join("..", "python", "src"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, args ...string) {
		t.Helper()
		realclients.Run(t, realclients.Command{Interpreter: python, Args: args, Dir: ".", Env: []string{
			"PYTHONPATH=" + client, "HAYSTACK_TELEMETRY_ENABLED=False", "LANGCHAIN_TRACING_V2=false"}})
	}
	run(t, "-m", "ruff", "format", "--check", "--no-cache", "--quiet", "--line-length", "120", ".")
	run(t, "-m", "ruff", "check", "--no-cache", "--quiet", "--line-length", "120", "--select", "E,F,W,I,UP,B", ".")
	url := realclients.Server(t, realclients.ServerOptions{Real: true, Passages: realclients.Enough(t)})
	for _, framework := range []string{"langchain", "llama_index", "haystack"} {
		t.Run(framework, func(t *testing.T) {
			text, err := os.ReadFile("conclave_" + framework + ".py")
			if lines := strings.Count(string(text), "\n"); err != nil || lines >= 80 {
				t.Errorf("%d lines, %v", lines, err)
			}
			run(t, "test_integrations.py", framework, url)
		})
	}
}
