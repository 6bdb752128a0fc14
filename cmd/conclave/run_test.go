package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/search/reply"
)

// conclave runs one command line in a folder of its own, without the
// environment of whoever runs the tests.
func conclave(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	term := cli.Terminal{In: strings.NewReader(""), Out: &stdout, Err: &stderr}
	code = run(t.Context(), args, term)
	return code, stdout.String(), stderr.String()
}

// passagesFile writes a corpus of three passages to a file and returns its path.
func passagesFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "passages.jsonl")
	lines := `{"id":"1","title":"Rice","text":"Cooked rice keeps for a day in the fridge."}
{"id":"2","title":"Lamps","text":"The keeper of the lighthouse hid the lamp under his coat."}
{"id":"3","title":"Foxes","text":"A fox asked the moon to come down from the sky."}
`
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestExitCodes(t *testing.T) {
	t.Chdir(t.TempDir())
	file := passagesFile(t)
	for _, c := range []struct {
		args []string
		code int
		says string // in what it complains about
	}{
		{[]string{"version"}, cli.ExitOK, ""},
		{[]string{"--version"}, cli.ExitOK, ""},
		{[]string{"--help"}, cli.ExitOK, ""},
		{[]string{"serve", "--help"}, cli.ExitOK, ""},
		{[]string{"serve", "--print-config"}, cli.ExitOK, ""},
		{[]string{"serch"}, cli.ExitUsage, `unknown command "serch" for "conclave": did you mean search or serve?`},
		{[]string{"models", "imprt"}, cli.ExitUsage, `unknown command "imprt" for "conclave models": did you mean import?`},
		{[]string{"serve", "extra"}, cli.ExitUsage, "extra"},
		{[]string{"serve", "--lisen", "x"}, cli.ExitUsage, "lisen"},
		{[]string{"index"}, cli.ExitUsage, "nothing to do"},
		{[]string{"index", "--in", file, "--add-expert", "x"}, cli.ExitUsage, "exclude"},
		{[]string{"index", "--in", file, "--index", "bogus"}, cli.ExitUsage, "bogus"},
		{[]string{"serve", "--log-level", "loud"}, cli.ExitUsage, "loud"},
		{[]string{"search", "--url", "127.0.0.1:1", "question"}, cli.ExitUsage, "http://"},
		{[]string{"index", "--in", file, "--format", "docx"}, cli.ExitUsage, "docx"},
		{[]string{"index", "--in", file, "--id-prefix", "x/"}, cli.ExitUsage, "before"},
		{[]string{"index", "--in", file, "--experts", "none,x"}, cli.ExitUsage, "none,x"},
		{[]string{"index", "--in", file, "--experts", "nobody"}, cli.ExitFailed, "nobody"},
		{[]string{"index", "--in", filepath.Join(t.TempDir(), "missing.jsonl"), "--experts", "none"}, cli.ExitFailed, "missing.jsonl"},
		{[]string{"search"}, cli.ExitUsage, "arg"},
		{[]string{"search", "--collection", "missing", "question"}, cli.ExitFailed, "missing"},
		{[]string{"search", "--collection", "a", "--url", "http://127.0.0.1:1", "question"}, cli.ExitUsage, "exclude"},
		{[]string{"evaluate"}, cli.ExitUsage, "questions"},
		{[]string{"models", "verify"}, cli.ExitUsage, "arg"},
		{[]string{"models", "verify", t.TempDir()}, cli.ExitFailed, "expert.yaml"},
		{[]string{"models", "import", t.TempDir()}, cli.ExitUsage, "--out"},
		{[]string{"healthcheck", "--url", "http://127.0.0.1:1", "--timeout", "200ms"}, cli.ExitFailed, "127.0.0.1:1"},
		{[]string{"setup", "--provider", "abacus"}, cli.ExitUsage, "abacus"},
	} {
		code, _, complaints := conclave(t, c.args...)
		if code != c.code || !strings.Contains(complaints, c.says) {
			t.Errorf(
				"conclave %s: exit code %d, want %d with %q, and it says:\n%s",
				strings.Join(c.args, " "),
				code,
				c.code,
				c.says,
				complaints,
			)
		}
		if code == cli.ExitUsage && !strings.Contains(complaints, "--help") {
			t.Errorf("conclave %s: a usage error does not point to --help:\n%s", strings.Join(c.args, " "), complaints)
		}
	}
}

// TestTerminalIsNotDriven prints a passage that would set a terminal's title,
// clear it and turn the direction of writing.
func TestTerminalIsNotDriven(t *testing.T) {
	var out bytes.Buffer
	result := reply.Result{Rank: 1, ID: "x", Title: "a\x1b]0;owned\a", Text: "b\x1b[2J c\u202ed \u009b1m"}
	if err := printAnswer(&out, reply.Response{Fusion: "rrf", Results: []reply.Result{result}}, 80); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\a\u202e\u009b") {
		t.Errorf("control characters reach the terminal: %q", out.String())
	}
}

// TestCutQuestionsAreTold: whoever reads the table hears that a source did not
// read the whole question.
func TestCutQuestionsAreTold(t *testing.T) {
	var out bytes.Buffer
	sources := []reply.Source{{Name: "base", Status: "ok", Truncated: true}, {Name: "bm25", Status: "ok"}}
	if err := printAnswer(&out, reply.Response{Fusion: "rrf", Sources: sources}, 80); err != nil {
		t.Fatal(err)
	}
	var reported []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "too long") {
			reported = append(reported, line)
		}
	}
	if len(reported) != 1 || !strings.HasPrefix(reported[0], "base ") {
		t.Errorf("%q", reported)
	}
}

func TestEvaluateOnAnotherCollection(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts",
		"none"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	for id, want := range map[string]int{"2": cli.ExitOK, "elsewhere/2": cli.ExitFailed} {
		line := `{"id":"q","question":"who hid the lamp","positive_ids":["` + id + `"]}`
		if err := os.WriteFile("questions.jsonl", []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, complaints := conclave(t, "evaluate", "--collection", "c", "--questions", "questions.jsonl")
		if code != want {
			t.Errorf("positive %s: exit code %d, want %d\n%s%s", id, code, want, out, complaints)
		}
	}
}

func TestConfigurationMistakesNameThePlace(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.WriteFile("conclave.yaml", []byte("limits:\n  kay: 3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, complaints := conclave(t, "serve")
	if code != cli.ExitFailed || !strings.Contains(complaints, "conclave.yaml") || !strings.Contains(complaints, "kay") {
		t.Errorf("exit code %d, and it says:\n%s", code, complaints)
	}
}

func TestIndexAndSearchWords(t *testing.T) {
	t.Chdir(t.TempDir())
	file := passagesFile(t)
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", file, "--experts",
		"none"); code != cli.ExitOK {
		t.Fatalf("index: %s", complaints)
	}
	code, out, complaints := conclave(t, "search", "--collection", "c", "--json", "who hid the lamp")
	if code != cli.ExitOK {
		t.Fatalf("search: %s", complaints)
	}
	var response reply.Response
	if err := json.Unmarshal([]byte(out), &response); err != nil {
		t.Fatal(err)
	}
	if len(response.Results) == 0 || response.Results[0].ID != "2" {
		t.Errorf("first passage is not 2: %s", out)
	}
	// The same ids once more clash; with a prefix they do not.
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", file); code != cli.ExitFailed ||
		!strings.Contains(complaints, `"1"`) {
		t.Errorf("a clash of ids: exit code %d, and it says:\n%s", code, complaints)
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--id-prefix", "more/", "--in",
		file); code != cli.ExitOK {
		t.Errorf("adding with a prefix: %s", complaints)
	}
	if code, out, complaints := conclave(t, "verify", "--collection", "c"); code != cli.ExitOK ||
		!strings.Contains(out, "6 passages in 2 segments") {
		t.Errorf("verify: %s%s", out, complaints)
	}
}

// freeAddress returns an address of this machine with a port that no program listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// run executes one command line of conclave and returns its exit code.
func run(ctx context.Context, args []string, term cli.Terminal) int {
	return cli.Run(ctx, newRoot(term), args, term)
}
