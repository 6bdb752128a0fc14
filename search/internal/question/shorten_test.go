package question

import (
	"strings"
	"testing"
)

// TestShorten: what is asked stays of a text that is too long, wherever it stands, and nothing else changes.
func TestShorten(t *testing.T) {
	if got := Shorten("as  it\nis", 100); got != "as  it\nis" {
		t.Errorf("%q", got)
	}
	const asked = "Where do I find the key of the lamp?"
	talk := strings.Repeat("We went on and on about the weather of that day. ", 400)
	for _, text := range []string{asked + " " + talk, talk + asked + "\n" + talk, talk + asked} {
		got := Shorten(text, 1000)
		if len(got) > 1000 || !strings.Contains(got, asked) || len(got) < 900 {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	}
	for _, text := range []string{
		strings.Repeat("a", 5000), strings.Repeat("é", 5000), strings.Repeat("one two ", 5000),
		strings.Repeat("\xff", 5000),
		strings.Repeat("\n", 5000), strings.Repeat("?", 5000),
	} {
		if got := Shorten(text, 160); len(got) > 160 {
			t.Errorf("%.20q: %d bytes", text, len(got))
		}
	}
}

// BenchmarkShorten, of a megabyte without a sentence's end, and of one with many.
func BenchmarkShorten(b *testing.B) {
	for name, text := range map[string]string{
		"words":     strings.Repeat("word ", 200000),
		"sentences": strings.Repeat("A b. ", 200000),
		"letters":   strings.Repeat("x", 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Shorten(text, 8192)
			}
		})
	}
}
