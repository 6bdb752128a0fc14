package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
)

// documentsFolder returns a folder of documents, one of which cannot be read.
func documentsFolder(t *testing.T) string {
	t.Helper()
	for path, text := range map[string]string{
		"docs/returns.md":       "# Returns\n\n## Refunds\n\nThe refund takes five working days.\n",
		"docs/shop/depot.html":  "<title>Depots</title><nav>Home</nav><main><h1>Leeds</h1><p>The depot in Leeds opens at six.</p></main>",
		"docs/scan.pdf.txt":     "\x00\x01\x02",
		"docs/.git/config":      "hidden",
		"docs/notes/lift.txt":   "The lift is out of order.\n",
		"passages.jsonl":        `{"id": "fox", "text": "The fox hid the moon."}` + "\n",
		"docs/letters/old.doc":  "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
		"docs/letters/note.eml": "From: a@example.org\nSubject: Keys\nDate: Tue, 02 Jan 2024 10:00:00 +0000\n\nThe keys are at the porter's.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return "docs"
}

// TestIndexDocuments: a folder of documents is indexed beside passages, an answer says
// where it stands, and files that cannot be read are named.
func TestIndexDocuments(t *testing.T) {
	workplace(t)
	t.Setenv("PATH", t.TempDir()) // whether LibreOffice is installed or not
	documentsFolder(t)
	code, out, complaints := conclave(
		t, "index", "--collection", "c", "--experts", "none", "--in", "docs", "--in", "passages.jsonl",
	)
	if code != cli.ExitOK || !strings.Contains(out, "5 passages") {
		t.Fatalf("code %d, %s%s", code, out, complaints)
	}
	for _, said := range []string{"not read: 2 files", "letters/old.doc: it is an Office file with a password, or of before 2007", "scan.pdf.txt: ", ".git: its name begins with a dot"} {
		if !strings.Contains(complaints, said) {
			t.Errorf("%q is not said in\n%s", said, complaints)
		}
	}
	code, out, _ = conclave(t, "search", "--collection", "c", "--json", "how long does the refund take")
	if code != cli.ExitOK || !containsAll(out, []string{`"returns.md#1"`, `"title": "Returns › Refunds"`}) {
		t.Errorf("code %d, %s", code, out)
	}
	code, _, complaints = conclave(t, "index", "--collection", "d", "--experts", "none", "--strict", "--in", "docs")
	if code != cli.ExitFailed || !strings.Contains(complaints, "2 files could not be read") {
		t.Errorf("with --strict: code %d, %s", code, complaints)
	}
}

// TestRead: what read prints as JSON is what index takes.
func TestRead(t *testing.T) {
	workplace(t)
	t.Setenv("PATH", t.TempDir()) // whether LibreOffice is installed or not
	documentsFolder(t)
	code, out, complaints := conclave(t, "read", "--json", "docs")
	if code != cli.ExitOK || strings.Count(out, "\n") != 4 {
		t.Fatalf("code %d, %s%s", code, out, complaints)
	}
	if err := os.WriteFile("read.jsonl", []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, complaints = conclave(t, "index", "--collection", "c", "--experts", "none", "--in", "read.jsonl")
	if code != cli.ExitOK || !strings.Contains(out, "4 passages") {
		t.Errorf("code %d, %s%s", code, out, complaints)
	}
}
