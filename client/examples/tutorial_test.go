package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// tutorialFolder has the programs of docs/tutorial.md, a file each.
const tutorialFolder = "testdata/tutorial"

// TestTutorial runs the programs of the tutorial beside a server that has the tutorial's documents. Each has to cite
// the section, understand the follow-up, and say that there is no answer to the last question.
func TestTutorial(t *testing.T) {
	python := realclients.Python(t)
	node, modules := realclients.Node(t)
	server := realclients.Server(t, realclients.ServerOptions{Real: true, Passages: tutorialPassages(t)})
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	questions := "what does a bed in the dormitory cost for guests?\nwhen is breakfast?\nand for early climbers?\n" +
		"who won the cup in 1998?\n"
	for name, command := range map[string][]string{
		"chat.sh": {"bash", "chat.sh"}, "chat.py": {python, "chat.py"}, "chat.mjs": {node, "chat.mjs"},
		"chat.go": {"go", "run", "chat.go"},
	} {
		text, err := os.ReadFile(filepath.Join(tutorialFolder, name))
		if err == nil {
			program := strings.ReplaceAll(string(text), "http://127.0.0.1:8080", server)
			err = os.WriteFile(filepath.Join(dir, name), []byte(program), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir = dir
		run.Stdin = strings.NewReader(questions)
		if name == "chat.py" { // which ends with an empty line
			run.Stdin = strings.NewReader(questions + "\n")
		}
		out, err := run.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		wanted := []string{"28 euros", "Prices", "document=hut.md", "found"}
		if name != "chat.sh" {
			wanted = append(wanted, "half past six to eight", "from four o'clock", "verdict: not_found")
		}
		for _, want := range wanted {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s does not print %q:\n%s", name, want, out)
			}
		}
	}
}

// tutorialPassages runs documents.sh and returns the passages of the documents that it writes, as JSON Lines.
func tutorialPassages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script, err := filepath.Abs(filepath.Join(tutorialFolder, "documents.sh"))
	if err != nil {
		t.Fatal(err)
	}
	realclients.Run(t, realclients.Command{Interpreter: "bash", Args: []string{"-eu", script}, Dir: dir})
	return realclients.ReadDocuments(t, filepath.Join(dir, "files"))
}
