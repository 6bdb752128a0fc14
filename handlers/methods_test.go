package handlers

import (
	"os"
	"strings"
	"testing"

	"conclave/fusion"
)

// TestMethodsAsDocumented: README says of each fusion method what its table does.
func TestMethodsAsDocumented(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fusion.Methods() {
		if row := "| `" + m.Name + "` | " + m.About + " |"; !strings.Contains(string(readme), row) {
			t.Errorf("README does not say: %s", row)
		}
	}
}
