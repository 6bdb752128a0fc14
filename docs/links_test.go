package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinksOfFiles: on a code host, what a document links to or shows is a file of
// the source. (handlers tests the links of the pages that a server shows.)
func TestLinksOfFiles(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "evidence/*.md", "../README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
	checked := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), found[1])); err != nil {
				t.Errorf("%s links to %s: %v", document, found[1], err)
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d links were found", checked)
	}
}
