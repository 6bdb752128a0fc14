package handlers

import (
	"os"
	"strings"
	"testing"

	"conclave/fusion"
)

// TestMethodsAsDocumented: docs/fusion.md says of each fusion method what its table does.
func TestMethodsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/fusion.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fusion.Methods() {
		if row := "| `" + m.Name + "` | " + m.About + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/fusion.md does not say: %s", row)
		}
	}
}
