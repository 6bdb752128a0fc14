package questions

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPythonListIsPythons compares with Python's own parser
// (testdata/pythonlist.py).
func TestPythonListIsPythons(t *testing.T) {
	data, err := os.ReadFile("testdata/pythonlist.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text  string
		Value []string
		Error bool
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 250 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		got, err := parsePythonList(c.Text)
		if c.Error != (err != nil) || !c.Error && !slices.Equal(got, c.Value) {
			t.Errorf("%q: %q, %v; Python: %q, refused: %v", c.Text, got, err, c.Value, c.Error)
		}
	}
}

// TestPythonListIsStrict holds what Python would take and conclave does not.
func TestPythonListIsStrict(t *testing.T) {
	for text, says := range map[string]string{
		`['''a''']`:          "a list of texts as Python prints it",
		`["\N{BULLET}"]`:     "no character",
		`["\ud800"]`:         "no character",
		`['a' 'b']`:          "a list of texts",
		`[r'a']`:             "a list of texts",
		`[__import__('os')]`: "a list of texts",
	} {
		got, err := parsePythonList(text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want an error with %q", text, got, err, says)
		}
	}
}

// FuzzPythonList: nothing makes the parser fail other than with an error, and
// UTF-8 stays UTF-8.
func FuzzPythonList(f *testing.F) {
	for _, seed := range []string{`['a', "b"]`, `['\x41', "\d"]`, "['\\\n', 'é']", `["\U0001F600"]`, `[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parsePythonList(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		for _, v := range values {
			if !utf8.ValidString(v) {
				t.Fatalf("%q gave %q, which is not valid UTF-8", text, v)
			}
		}
	})
}
