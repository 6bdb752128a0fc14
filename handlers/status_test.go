package handlers

import (
	"testing"

	"example.org/conclave/handlers/schema"
)

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "there is no expert \"x\"": "There is no expert \"x\".", "It is late.": "It is late.",
		"max_tokens is for readers that write": "max_tokens is for readers that write.",
	} {
		if got := schema.Sentence(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
