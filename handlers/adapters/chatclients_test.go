package adapters_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/testing/realclients"
)

// TestChatClients: OpenAI's packages for Python and Node get an answer with its citations, whole and
// as it is written, and the reason where they send tools.
func TestChatClients(t *testing.T) {
	node, modules := realclients.Node(t)
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", "chat.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil { // import looks beside the script
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "chat.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	model.Say("Für 🦊: the keeper", " hid the lamp [1].")
	const want = "Für 🦊: the keeper hid the lamp [1].\n\nSources:\n- [1] Lamps\n"
	for name, command := range map[string]realclients.Command{
		"python": {
			Interpreter: realclients.Python(t),
			Args:        []string{filepath.Join("testdata", "chat_client.py"), s.url, whereIsTheLamp},
		},
		"node": {Interpreter: node, Args: []string{"chat.mjs", s.url, whereIsTheLamp}, Dir: dir},
	} {
		var got struct {
			Whole, Finished, Error        string
			Cited, Titles, Pieces, Models []string
			Tokens                        int
		}
		printed := realclients.Run(t, command)
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, printed)
		}
		if got.Whole != want || strings.Join(got.Pieces, "") != want || got.Finished != "stop" || got.Tokens != 2 ||
			!slices.Equal(got.Cited, []string{"[1]"}) || !slices.Equal(got.Titles, []string{"Lamps"}) {
			t.Errorf("%s: %+v", name, got)
		}
		if !slices.Equal(got.Models, []string{"base", "base:question", "conclave", "local"}) ||
			!strings.Contains(got.Error, "tools cannot be used here") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
