package forms

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestLanguagesLikeLucene: the terms of texts in other languages than English are those of Lucene 9.12 with the same
// parts: testdata/languages/Terms.java made lucene.txt of texts.json, whose comment has the command.
func TestLanguagesLikeLucene(t *testing.T) {
	data, err := os.ReadFile("testdata/languages/texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts map[string]string
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	lucene, err := os.ReadFile("testdata/languages/lucene.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(lucene)), "\n")
	if len(lines) != len(languageRules) {
		t.Errorf("%d languages in lucene.txt, %d have an analysis", len(lines), len(languageRules))
	}
	for _, line := range lines {
		code, terms, _ := strings.Cut(line, " ")
		want := strings.Fields(terms)
		got := OfLanguage(code).Terms(texts[code])
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: from term %d: %q, by Lucene %q", code, i, got[min(i, len(got)):min(i+4, len(got))],
					want[min(i, len(want)):min(i+4, len(want))])
				break
			}
		}
	}
}
