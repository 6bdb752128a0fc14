package data

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"
)

// languages are the languages of the set in languages/. English is the one that the others are translations of.
var languages = []string{"en", "de", "fr", "es", "zh", "ja"}

// languageRow is a line of a file in languages/: a passage or a question.
type languageRow struct {
	ID          string    `json:"id"`
	Title       *string   `json:"title"`
	Text        string    `json:"text"`
	Question    string    `json:"question"`
	PositiveIDs *[]string `json:"positive_ids"`
	Half        string    `json:"half"`
}

// TestLanguages checks that every language of languages/ has the same passages, the same questions in the same halves,
// and the same number of questions about other subjects.
func TestLanguages(t *testing.T) {
	wantPassages := passageIDs(readLanguageRows(t, "passages.en"))
	wantHalves := questionHalves(readLanguageRows(t, "questions.en"))
	if len(wantPassages) != 124 {
		t.Errorf("English has %d passages, want 124", len(wantPassages))
	}
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			passages := readLanguageRows(t, "passages."+language)
			if got := passageIDs(passages); !slices.Equal(got, wantPassages) {
				t.Errorf("ids of passages: %v, want those of English: %v", got, wantPassages)
			}
			for _, p := range passages {
				if p.Text == "" || p.Title == nil {
					t.Errorf("passage %s has no text or no title", p.ID)
				}
			}
			questions := readLanguageRows(t, "questions."+language)
			if got := questionHalves(questions); !maps.Equal(got, wantHalves) {
				t.Errorf("halves of questions: %v, want those of English: %v", got, wantHalves)
			}
			checkQuestions(t, language, questions)
			foreign := readLanguageRows(t, "foreign."+language)
			if len(foreign) != 40 {
				t.Errorf("%d questions about other subjects, want 40", len(foreign))
			}
			seen := map[string]bool{}
			for _, q := range foreign {
				if q.Question == "" || q.PositiveIDs == nil || len(*q.PositiveIDs) != 0 || seen[q.ID] {
					t.Errorf("%s: want a question, an id of its own and an empty list of positive_ids", q.ID)
				}
				seen[q.ID] = true
			}
		})
	}
}

// checkQuestions fails the test unless each question has the id and the one positive id of a passage, and half of the
// 124 are dev.
func checkQuestions(t *testing.T, language string, questions []languageRow) {
	t.Helper()
	dev := 0
	for _, q := range questions {
		if q.Question == "" || q.PositiveIDs == nil || len(*q.PositiveIDs) != 1 {
			t.Errorf("%s: want a question and one positive id", q.ID)
			continue
		}
		if id := (*q.PositiveIDs)[0]; q.ID != id+"/"+language {
			t.Errorf("the question of passage %s has the id %s", id, q.ID)
		}
		if q.Half == "dev" {
			dev++
		}
	}
	if len(questions) != 124 || dev != 62 {
		t.Errorf("%d questions of which %d dev, want 124 and 62", len(questions), dev)
	}
}

// passageIDs returns the ids of the passages in order.
func passageIDs(passages []languageRow) []string {
	var out []string
	for _, p := range passages {
		out = append(out, p.ID)
	}
	return out
}

// questionHalves returns the half of each question by the passage it is about.
func questionHalves(questions []languageRow) map[string]string {
	out := map[string]string{}
	for _, q := range questions {
		if q.PositiveIDs != nil && len(*q.PositiveIDs) == 1 {
			out[(*q.PositiveIDs)[0]] = q.Half
		}
	}
	return out
}

// readLanguageRows returns the lines of languages/NAME.jsonl, and fails the test on one that is no such row.
func readLanguageRows(t *testing.T, name string) []languageRow {
	t.Helper()
	content, err := os.ReadFile("languages/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []languageRow
	for line := range bytes.Lines(content) {
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		var row languageRow
		if err := decoder.Decode(&row); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
		out = append(out, row)
	}
	return out
}
