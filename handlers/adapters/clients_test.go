package adapters_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/internal/testing/testenv"
)

// programOf returns a program of docs/chatbots.md, by the name of its file, that asks the collection c of a server at
// an address. TestProgramsOfPages in client/examples compares the page with the files.
func programOf(t *testing.T, name, address string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Root(t), "client", "examples", "testdata", "chatbots", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.ReplaceAll(string(text), "http://127.0.0.1:8080", address), `"demo"`, `"c"`)
}

// TestDocumentedClients runs the programs and the command for bash of docs/chatbots.md, with the clients themselves.
func TestDocumentedClients(t *testing.T) {
	python := realclients.Python(t)
	node, modules := realclients.Node(t)
	url := realclients.Server(t, realclients.ServerOptions{Real: true, Passages: firstTales(t)})
	const fox = "Vessel the fox was in love with her own reflection"
	var said []string
	for _, name := range []string{"chat.py", "stores.py", "rerank.py"} {
		script := programOf(t, name, url)
		said = append(said, realclients.Run(t, realclients.Command{Interpreter: python, Args: []string{"-c", script}}))
	}
	if !strings.Contains(said[0], "Sources:\n- [1] The Fox and the Borrowed Moon") ||
		!strings.Contains(said[1], "The Fox and the Borrowed Moon "+fox) || !strings.HasPrefix(said[2], "1 0.") {
		t.Errorf("%q", said)
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil { // import looks beside the script
		t.Fatal(err)
	}
	const stores = "stores.mjs"
	if err := os.WriteFile(filepath.Join(dir, stores), []byte(programOf(t, stores, url)), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := realclients.Run(t, realclients.Command{Interpreter: node, Args: []string{stores}, Dir: dir})
	if !strings.Contains(printed, "Vessel") { // of another passage on the fox, which the reader puts first
		t.Errorf("%q", printed)
	}
	page, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", "chatbots.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```bash\n(.*?)```").FindSubmatch(page)
	if shown == nil {
		t.Fatal("docs/chatbots.md shows no command")
	}
	line := strings.ReplaceAll(string(shown[1]), "http://127.0.0.1:8080", url)
	found := inspect(t, strings.Fields(strings.ReplaceAll(line, `query="why did the fox hide the moon"`, "query=fox")))
	if len(found.Content) != 1 || !strings.Contains(found.Content[0].Text, fox) {
		t.Errorf("%+v", found)
	}
}

// inspected is what the reference inspector prints of an answer.
type inspected struct {
	Tools   []struct{ Name string }
	Content []struct{ Text string }
}

// inspect runs the reference inspector's command line.
func inspect(t *testing.T, line []string) (out inspected) {
	t.Helper()
	node, modules := realclients.Node(t)
	line = append([]string{filepath.Join(modules, ".bin", line[0])}, line[1:]...)
	printed := realclients.Run(t, realclients.Command{Interpreter: node, Args: line})
	if err := json.Unmarshal([]byte(printed), &out); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	return out
}

// TestInspector: the reference inspector reads the tools.
func TestInspector(t *testing.T) {
	url := realclients.Server(t, realclients.ServerOptions{})
	got := inspect(t, []string{"mcp-inspector", "--cli", url + "/mcp", "--transport", "http", "--method", "tools/list"})
	if len(got.Tools) != 5 {
		t.Errorf("%+v", got)
	}
}

// TestOpenAIClients: vectors, models, pages and errors of the packages for Python and
// Node are those of the API.
func TestOpenAIClients(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Change: keyed})
	node, modules := realclients.Node(t)
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "openai.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "openai.mjs"), script, 0o600); err != nil {
		t.Fatal(err)
	}
	s.key = "embed"
	var want struct{ Embeddings [][]float32 }
	s.ask("POST", "/v1/embed", object{"expert": "base", "kind": "passage", "input": []string{"a lamp", "the moon"}}, &want)
	for name, printed := range map[string]string{
		"python": realclients.Run(t, realclients.Command{Interpreter: realclients.Python(t), Args: []string{filepath.Join("testdata", "openai_client.py"), s.url}}),
		"node":   realclients.Run(t, realclients.Command{Interpreter: node, Args: []string{"openai.mjs", s.url}, Dir: dir}),
	} {
		var got struct {
			Float, Base64 [][]float32
			Tokens        int
			Models, Found []string
			Narrowed      []string // by conditions on a number
			Errors        map[string]string
		}
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, printed)
		}
		if !slices.EqualFunc(got.Float, want.Embeddings, slices.Equal) ||
			!slices.EqualFunc(got.Base64, want.Embeddings, slices.Equal) ||
			got.Tokens < 4 {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
		if !slices.Equal(got.Models, []string{"conclave", "base", "base:question"}) || len(got.Found) != 2 ||
			slices.Contains(got.Found, "rice") || len(got.Narrowed) != 1 || !slices.Contains(got.Found, got.Narrowed[0]) {
			t.Errorf("%s: %+v", name, got)
		}
		for error, text := range map[string]string{"AuthenticationError": "not known", "PermissionDeniedError": "scope", "NotFoundError": "no expert", "BadRequestError": "dimensions cannot"} {
			if !strings.Contains(got.Errors[error], text) {
				t.Errorf("%s: %s: %q", name, error, got.Errors[error])
			}
		}
	}
}

// TestInferenceClients: what Hugging Face's and Cohere's packages get for an address is
// what they ask of their own servers.
func TestInferenceClients(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	printed := realclients.Run(
		t,
		realclients.Command{
			Interpreter: realclients.Python(t),
			Args:        []string{filepath.Join("testdata", "inference.py"), s.url},
		},
	)
	var got struct {
		Vectors [][]float32
		Order   []int
		Error   string
	}
	if err := json.Unmarshal([]byte(printed), &got); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	var want [][]float32
	s.ask("POST", "/embed", object{"inputs": []string{"a lamp"}}, &want)
	var ranked []struct{ Index int }
	s.ask("POST", "/rerank", object{"query": "the moon", "texts": []string{"rice", "a fox", "the moon"}}, &ranked)
	order := []int{}
	for _, x := range ranked {
		order = append(order, x.Index)
	}
	if !slices.EqualFunc(got.Vectors, want, slices.Equal) || !slices.Equal(got.Order, order) ||
		!strings.Contains(got.Error, "top_n") {
		t.Errorf("%+v, want %v and %v", got, want, order)
	}
}
