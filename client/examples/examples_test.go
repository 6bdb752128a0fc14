// Package examples runs the examples against a server of the demo.
package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
)

func TestExamples(t *testing.T) {
	python := realclients.Python(t)
	client, err := filepath.Abs(filepath.Join("..", "python", "src"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, dir string, env []string, args ...string) {
		t.Helper()
		realclients.Run(
			t,
			realclients.Command{Interpreter: python, Args: args, Dir: dir, Env: append(env, "PYTHONPATH="+client)},
		)
	}
	run(t, ".", nil, "-m", "ruff", "format", "--check", "--no-cache", "--quiet", "--line-length", "120", ".")
	run(
		t,
		".",
		nil,
		"-m",
		"ruff",
		"check",
		"--no-cache",
		"--quiet",
		"--line-length",
		"120",
		"--select",
		"E,F,W,I,UP,B",
		".",
	)
	model := realclients.NewModel(t)
	model.Say("She was in love with her own reflection [1].", " Geneva bored her [1].")
	url := realclients.Server(t, realclients.ServerOptions{
		Real: true, Passages: realclients.DemoDocuments(t),
		Change: func(c *configs.Config) {
			c.Generators = []configs.Generator{{Name: "local", Address: model.URL, Model: "scripted"}}
		},
	})
	t.Run("chatbot", func(t *testing.T) { run(t, "chatbot", nil, "test_app.py", url) })
	t.Run("claims", func(t *testing.T) { claims(t, url) })
	t.Run("documented", func(t *testing.T) { documented(t, python, url) })
	t.Run("notebook", func(t *testing.T) {
		out := t.TempDir()
		run(
			t,
			".",
			[]string{
				"CONCLAVE_URL=" + url,
				"MPLBACKEND=module://matplotlib_inline.backend_inline",
				"IPYTHONDIR=" + t.TempDir(),
				"MPLCONFIGDIR=" + t.TempDir(),
			},
			"-m",
			"nbconvert",
			"--execute",
			"--to",
			"notebook",
			"--log-level",
			"ERROR",
			"--output-dir",
			out,
			"first_steps.ipynb",
		)
		checkNotebook(t, filepath.Join(out, "first_steps.ipynb"))
	})
}

// checkNotebook looks for what the notebook shows: the demo's tale, two plots, the share
// of right first passages, which is that of docs/evidence/measured.md, and a passage that came and went.
func checkNotebook(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct {
		Cells []struct {
			Outputs []struct {
				Text []string
				Data map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	plots := 0
	for _, cell := range notebook.Cells {
		for _, output := range cell.Outputs {
			printed.WriteString(strings.Join(output.Text, ""))
			if lines, ok := output.Data["text/plain"].([]any); ok {
				for _, line := range lines {
					printed.WriteString(line.(string))
				}
			}
			if _, ok := output.Data["image/png"]; ok {
				plots++
			}
		}
	}
	for _, want := range []string{"The Fox and the Borrowed Moon", "created\nTea\ndeleted\n", "(3, 384) float32"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("it does not show %q", want)
		}
	}
	// How many depends on whether a busy server leaves the reranker out: 88.8 without it, 90.5 with it.
	right := regexp.MustCompile(`(\d\d\.\d)% of 357 first passages are right`).FindStringSubmatch(printed.String())
	if right == nil {
		t.Error("it does not show how many first passages are right")
	} else if share, err := strconv.ParseFloat(right[1], 64); err != nil || share < 88 || share > 92 {
		t.Errorf("%s %% of the first passages are right", right[1])
	}
	if plots != 2 {
		t.Errorf("%d plots", plots)
	}
	if t.Failed() {
		t.Log(printed.String())
	}
}
