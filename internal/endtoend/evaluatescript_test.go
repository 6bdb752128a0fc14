package endtoend

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEvaluateScript runs research/bench/evaluate, which makes the tables of docs/evidence/experts.md in an
// hour, on two small domains: what it asks of the commands is there, and so is what
// research/bench/tables.py reads.
func TestEvaluateScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it indexes and calibrates with three experts")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	out := filepath.Join(t.TempDir(), "out")
	for domain, of := range map[string]string{"policy": "policy", "wiki": "encyclopedia"} {
		pack(
			t,
			filepath.Join(root, "shipped", "demo", "passages", of+".jsonl"),
			filepath.Join(data, domain, "passages.jsonl.gz"),
			of,
			1,
		)
		pack(
			t,
			filepath.Join(root, "shipped", "demo", "questions", "dev.jsonl"),
			filepath.Join(data, domain, "questions.dev.jsonl.gz"),
			of,
			3,
		)
	}
	command := exec.CommandContext(t.Context(), "bash", "research/bench/evaluate", data, out)
	command.Dir = root
	command.Env = append(os.Environ(), "DOMAINS=policy wiki", "EXPERTS=base policy wiki late")
	if printed, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	tables, err := os.ReadFile(filepath.Join(out, "tables.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| gate", "| policy, own questions", "| bm25 | 0.", "| desire-me |", "without policy"} {
		if !strings.Contains(string(tables), row) {
			t.Errorf("the tables have no row %q:\n%s", row, tables)
		}
	}
}

// pack writes one of every so many lines of a domain to another file, with gzip.
func pack(t *testing.T, from, to, domain string, every int) {
	t.Helper()
	source, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	packed := gzip.NewWriter(file)
	lines := bufio.NewScanner(source)
	n := 0
	for lines.Scan() {
		if !strings.Contains(lines.Text(), `"id":"`+domain+"/") {
			continue
		}
		if n%every == 0 {
			if _, err := fmt.Fprintln(packed, lines.Text()); err != nil {
				t.Fatal(err)
			}
		}
		n++
	}
	if err := lines.Err(); err != nil || n == 0 {
		t.Fatalf("%s has %d lines of %s: %v", from, n, domain, err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
