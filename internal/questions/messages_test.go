package questions

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestMessages: of a conversation the last message of the user is the question.
func TestMessages(t *testing.T) {
	root := folder(t, map[string]string{
		"talk.jsonl": `{"id":"1","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"How deep is it?"},` +
			`{"role":"assistant","content":"Very."},{"role":"user","content":" "},{"role":"user","content":"And how old?"}],"positive_ids":["a"]}` +
			"\n" + `{"id":"2","messages":[{"role":"user","content":"Who?"}],"positive_ids":["b"]}`,
		"both.jsonl":    `{"id":"1","question":"Who?","messages":[{"role":"user","content":"Who?"}],"positive_ids":["a"]}`,
		"nobody.jsonl":  `{"id":"1","messages":[{"role":"assistant","content":"Hello"}],"positive_ids":["a"]}`,
		"no-list.jsonl": `{"id":"1","messages":"Who?","positive_ids":["a"]}`,
	})
	set, err := Read(QuestionFile{Path: filepath.Join(root, "talk.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Question{
		{ID: "1", Text: "And how old?", Before: []string{"How deep is it?"}},
		{ID: "2", Text: "Who?"},
	} {
		got := set.Questions[i]
		if got.ID != want.ID || got.Text != want.Text || len(got.Before) != len(want.Before) ||
			len(want.Before) > 0 && !reflect.DeepEqual(got.Before, want.Before) {
			t.Errorf("question %d is %q behind %q", i+1, got.Text, got.Before)
		}
	}
	for name, want := range map[string]string{
		"both.jsonl":    "leave out one of the two",
		"nobody.jsonl":  "of the user",
		"no-list.jsonl": "a list of messages is expected",
	} {
		if _, err := Read(QuestionFile{Path: filepath.Join(root, name)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
