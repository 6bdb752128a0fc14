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

// nodeScript returns Node, and a new folder with a script of testdata beside the packages that it imports.
func nodeScript(t *testing.T, name string) (node, dir string) {
	t.Helper()
	node, modules := realclients.Node(t)
	dir = t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = os.Symlink(modules, filepath.Join(dir, "node_modules")) // import looks beside the script
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), script, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return node, dir
}

// TestChatClients: OpenAI's packages for Python and Node get an answer with its citations, whole and
// as it is written, and the reason where they send tools.
func TestChatClients(t *testing.T) {
	node, dir := nodeScript(t, "chat.mjs")
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

			Model, Response, ResponseStreamed, Stopped, Older string
			ResponseCited, Events                             []string
		}
		printed := realclients.Run(t, command)
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, printed)
		}
		if got.Whole != want || strings.Join(got.Pieces, "") != want || got.Finished != "stop" || got.Tokens != 2 ||
			!slices.Equal(got.Cited, []string{"[1]"}) || !slices.Equal(got.Titles, []string{"Lamps"}) {
			t.Errorf("%s: %+v", name, got)
		}
		if !slices.Equal(got.Models, []string{"conclave", "local", "base", "base:question"}) ||
			!strings.Contains(got.Error, "tools cannot be used here") {
			t.Errorf("%s: %+v", name, got)
		}
		events := slices.Compact(got.Events)
		if got.Response != want || got.ResponseStreamed != want || !slices.Equal(got.ResponseCited, []string{"[1]"}) ||
			got.Older != want || got.Stopped != "Für 🦊: the keeper hid the lamp [1]." || got.Model != "local" {
			t.Errorf("%s: %+v", name, got)
		}
		if !slices.Equal(events, []string{"response.created", "response.in_progress", "response.output_item.added",
			"response.content_part.added", "response.output_text.delta", "response.output_text.annotation.added",
			"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"}) {
			t.Errorf("%s: %q", name, events)
		}
	}
}

// TestChatPrograms: LangChain's ChatOpenAI, Dify's own classes for a model that is OpenAI-API-compatible, and the chat
// program llm have the server as their model, and a second question of each comes behind the first.
func TestChatPrograms(t *testing.T) {
	python := realclients.Python(t)
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	const want = "The keeper hid the lamp [1].\n\nSources:\n- [1] Lamps\n"
	for _, script := range []string{"chat_langchain.py", "chat_dify.py", "chat_llm.py"} {
		model.Say("The keeper", " hid the lamp [1].")
		var got struct {
			Whole, Finished, Follow, Chat, First string
			Pieces                               []string
			Vectors                              int
		}
		printed := realclients.Run(t, realclients.Command{
			Interpreter: python,
			Args:        []string{filepath.Join("testdata", script), s.url, whereIsTheLamp},
		})
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatalf("%s: %v: %s", script, err, printed)
		}
		pieces := strings.Join(got.Pieces, "")
		asked := model.Asked()
		last := asked[len(asked)-1]
		if strings.TrimSpace(got.Whole) != strings.TrimSpace(want) ||
			strings.TrimSpace(pieces) != strings.TrimSpace(want) ||
			!strings.HasSuffix(last, "What was asked before:\n- "+whereIsTheLamp+"\nQuestion: and where?") {
			t.Errorf("%s: %+v, asked %q", script, got, last)
		}
		switch script {
		case "chat_langchain.py":
			if got.Finished != "stop" || got.Follow != want || got.Vectors != 2 {
				t.Errorf("%s: %+v", script, got)
			}
		case "chat_dify.py":
			if got.Follow != want || got.First != "the moon" || got.Vectors != 2 {
				t.Errorf("%s: %+v", script, got)
			}
		case "chat_llm.py":
			if strings.Count(got.Chat, "hid the lamp [1].") != 2 {
				t.Errorf("%s: %q", script, got.Chat)
			}
		}
	}
}

// TestAISDK: the AI SDK gets an answer by the Responses interface, which is its default, and by chat completions:
// whole, as it is written, and as an object of a schema.
func TestAISDK(t *testing.T) {
	node, dir := nodeScript(t, "ai_sdk.mjs")
	model := realclients.NewModel(t)
	s := written(t, model, time.Minute)
	ask := func(mode string, into any) {
		t.Helper()
		printed := realclients.Run(t, realclients.Command{
			Interpreter: node, Args: []string{"ai_sdk.mjs", s.url, whereIsTheLamp, mode}, Dir: dir,
		})
		if err := json.Unmarshal([]byte(printed), into); err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
	}
	model.Say("The keeper", " hid the lamp [1].")
	const want = "The keeper hid the lamp [1].\n\nSources:\n- [1] Lamps\n"
	var texts map[string]struct {
		Whole, Finished string
		Pieces, Sources []string
	}
	ask("text", &texts)
	for _, name := range []string{"responses", "chat"} {
		got := texts[name]
		if got.Whole != want || strings.Join(got.Pieces, "") != want || got.Finished != "stop" ||
			!slices.Equal(got.Sources, []string{"Lamps"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	model.Say(`{"who": `, `"the keeper"}`)
	var objects map[string]string
	ask("object", &objects)
	if objects["responses"] != "the keeper" || objects["chat"] != "the keeper" {
		t.Errorf("as an object: %q", objects)
	}
}
