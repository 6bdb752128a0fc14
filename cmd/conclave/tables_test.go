package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
)

// TestTablesAreReported: what was joined or left out is counted, and named by its lines.
func TestTablesAreReported(t *testing.T) {
	t.Chdir(t.TempDir())
	table := "sku,body,kind\nA,\"two\nlines\",k\nB,\"lone,k\nC,too,many,fields\nD\nE,\"fine, \"\"so\"\"\",k\n"
	if err := os.WriteFile("p.csv", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	index := []string{"index", "--collection", "c", "--in", "p.csv", "--experts", "none"}
	if code, _, complaints := conclave(t, index...); code != cli.ExitFailed ||
		!containsAll(complaints, []string{`"sku", "body", "kind"`, "--id-column"}) {
		t.Fatalf("without columns: exit code %d, %s", code, complaints)
	}
	index = append(index, "--id-column", "sku", "--text-column", "body")
	if code, _, complaints := conclave(t, index...); code != cli.ExitFailed ||
		!containsAll(complaints, []string{"p.csv:5: ", "4 fields"}) {
		t.Fatalf("with a bad row: exit code %d, %s", code, complaints)
	}
	code, out, complaints := conclave(t, append(index, "--skip-bad", "--json")...)
	var report struct {
		Passages, Skipped int
		Rows              map[string]map[string]int64
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != cli.ExitOK {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, complaints)
	}
	if report.Passages != 3 || report.Skipped != 2 || report.Rows["p.csv"]["joined"] != 1 ||
		report.Rows["p.csv"]["literal"] != 1 {
		t.Errorf("%s", out)
	}
	if !containsAll(complaints, []string{"left out: p.csv:5:", "left out: p.csv:6:",
		"of several lines; each row is one passage: lines 2–3", "read as a character: line 4"}) ||
		strings.Count(complaints, "left out:") != 2 {
		t.Errorf("%s", complaints)
	}
	_, exported, _ := conclave(t, "export", "--collection", "c")
	if want := `{"id":"A","text":"two\nlines","metadata":{"kind":"k"}}` + "\n" + `{"id":"B","text":"\"lone","metadata":{"kind":"k"}}` + "\n" + `{"id":"E","text":"fine, \"so\"","metadata":{"kind":"k"}}` + "\n"; exported != want {
		t.Errorf("%s", exported)
	}
}
