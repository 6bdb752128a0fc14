package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompareTexts has shares that were counted by hand.
func TestCompareTexts(t *testing.T) {
	for _, c := range []struct {
		reference, read      string
		kept, inOrder, extra float64
		missing              string
	}{
		{"Bees dance.", "bees DANCE", 1, 1, 0, ""},
		{"one two three four", "one three two four", 1, 0, 0, ""},
		{"one two three four", "one two", 0.5, 1. / 3, 0, "three four"},
		{"one one two", "one two x y", 2. / 3, 0.5, 0.5, "one"},
		{"exam-\nple ﬁne", "example fine", 1, 1, 0, ""},
		{"", "x", 1, 1, 1, ""},
	} {
		got := compareTexts(c.reference, c.read)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !near(got.Kept, c.kept) || !near(got.InOrder, c.inOrder) || !near(got.Extra, c.extra) ||
			strings.Join(got.Missing, " ") != c.missing {
			t.Errorf("%q of %q: %+v", c.read, c.reference, got)
		}
	}
}

// TestReadReference compares a file with what stands in it, and with more.
func TestReadReference(t *testing.T) {
	dir := t.TempDir()
	file, reference := filepath.Join(dir, "a.md"), filepath.Join(dir, "a.txt")
	for path, text := range map[string]string{
		file: "# Bees\n\nBees *dance* to tell the way.\n", reference: "Bees\nBees dance to tell the way. Honey.",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	workplace(t)
	code, out, _ := conclave(t, "read", "--json", "--reference", reference, file)
	if code != 0 || !strings.Contains(out, `"media_type":"text/markdown"`) ||
		!strings.Contains(out, `"missing":["honey"]`) || !strings.Contains(out, `"reference_words":8`) {
		t.Errorf("%d %s", code, out)
	}
}
