package handlers

import (
	"os"
	"strings"
	"testing"

	"example.org/conclave/fusion"
)

// TestMethodsAsDocumented: the table of docs/fusion.md has each fusion method.
func TestMethodsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/fusion.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fusion.Methods() {
		if !strings.Contains(string(page), "\n| `"+m.Name+"` | ") {
			t.Errorf("docs/fusion.md does not say what %s does", m.Name)
		}
	}
}
