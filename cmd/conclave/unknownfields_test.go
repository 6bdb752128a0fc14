package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/corpus"
)

func TestFieldsThatAreLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := `{"id":"1","text":"one","url":"https://example.org"}
{"id":"2","text":"two","url":"https://example.org","da\u001bte":"1999"}
`
	if err := os.WriteFile("p.jsonl", []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	index := func(args ...string) (int, string) {
		t.Helper()
		if err := os.RemoveAll("c"); err != nil {
			t.Fatal(err)
		}
		code, _, complaints := conclave(
			t,
			append([]string{"index", "--collection", "c", "--in", "p.jsonl", "--experts", "none"}, args...)...)
		return code, complaints
	}
	code, complaints := index()
	if code != cli.ExitOK || strings.Count(complaints, "warning") != 2 || strings.Contains(complaints, "\x1b") ||
		!containsAll(
			complaints,
			[]string{`p.jsonl:1: the field "url"`, "p.jsonl:2: the field", "id, title, text, tags and metadata"},
		) {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if code, complaints := index("--strict"); code != cli.ExitFailed ||
		!containsAll(complaints, []string{"p.jsonl:1", `"url"`, "--strict"}) {
		t.Errorf("strict: exit code %d, %s", code, complaints)
	}
	if code, complaints := index("--strict", "--skip-bad"); code != cli.ExitFailed ||
		!containsAll(complaints, []string{"left out: p.jsonl:1", "left out: p.jsonl:2"}) {
		t.Errorf("nothing is left: exit code %d, %s", code, complaints)
	}

	var many strings.Builder
	for i := range 3 * corpus.MaxUnknown {
		fmt.Fprintf(&many, "{\"id\":\"%d\",\"text\":\"x\",\"key %d\":1}\n", i, i)
	}
	if err := os.WriteFile("p.jsonl", []byte(many.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, complaints := index(); code != cli.ExitOK || strings.Count(complaints, "warning") != corpus.MaxUnknown+1 {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}
