package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/testenv"
)

// TestProgramsOfPages: each page of the guide with programs shows every file of a folder as it is, and no other program
// in their languages. TestTutorial, TestExamples and the tests of handlers/adapters run the files.
func TestProgramsOfPages(t *testing.T) {
	languages := map[string]string{".sh": "bash", ".py": "python", ".mjs": "js", ".go": "go"}
	for page, folder := range map[string]string{
		"tutorial.md": tutorialFolder, "clients.md": clientsFolder, "chatbots.md": "testdata/chatbots",
	} {
		text, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil || len(files) < 4 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		shown := map[string]int{}
		for _, file := range files {
			program, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			language := languages[filepath.Ext(file)]
			shown[language]++
			if !strings.Contains(string(text), "```"+language+"\n"+string(program)+"```\n") {
				t.Errorf("docs/%s does not have %s as it is", page, file)
			}
		}
		for language, files := range shown {
			if blocks := strings.Count(string(text), "```"+language+"\n"); blocks != files {
				t.Errorf("docs/%s has %d programs in %s, of which %d have a file", page, blocks, language, files)
			}
		}
	}
}
