package evaluation

import (
	"encoding/json"
	"fmt"
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
	if len(cases) < 500 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		got, err := parsePythonList(c.Text)
		if c.Error != (err != nil) || !c.Error && !slices.Equal(got, c.Value) {
			// Python joins lines at a backslash outside of strings, too.
			t.Errorf("%q: %q, %v; Python: %q, refused: %v", c.Text, got, err, c.Value, c.Error)
		}
	}
}

// TestPythonListIsStrict holds what Python would take and conclave does not.
func TestPythonListIsStrict(t *testing.T) {
	for text, says := range map[string]string{
		`['''a''']`:                  "character 2: a text in single or double quotes",
		`["\N{BULLET}"]`:             "\\N{name}",
		`["\ud800"]`:                 "a character",
		`['a', # comment` + "\n'b']": "character 7: a text in quotes",
		"['a', \\\n'b']":             "a text in quotes",
		`['a', 3]`:                   "character 7: a text in quotes is expected, not \"3]\"",
		`['a', 'b'`:                  "character 10: a comma or ] is expected, and there is nothing more",
		`[__import__('os')]`:         "a text in quotes",
	} {
		got, err := parsePythonList(text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want an error with %q", text, got, err, says)
		}
	}
}

// python writes a list of texts as a Python program may.
func python(values []string, quote byte) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte(quote)
		for _, r := range v {
			switch {
			case r == rune(quote) || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case r < ' ':
				fmt.Fprintf(&b, "\\x%02x", r)
			case r > 0xffff:
				fmt.Fprintf(&b, "\\U%08x", r)
			case r > 0x7f:
				fmt.Fprintf(&b, "\\u%04X", r)
			default:
				b.WriteRune(r)
			}
		}
		b.WriteByte(quote)
	}
	b.WriteByte(']')
	return b.String()
}

// FuzzPythonList: nothing makes the parser fail other than with an error, and
// what it takes is the same after being written and parsed again.
func FuzzPythonList(f *testing.F) {
	for _, seed := range []string{`['a', "b"]`, `['\x41' 'b', r"\d"]`, "['\\\n', u'é']", `["\U0001F600"]`, `[`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parsePythonList(text)
		if err != nil {
			return
		}
		for _, v := range values {
			if utf8.ValidString(text) && !utf8.ValidString(v) {
				t.Fatalf("%q gave %q, which is not valid UTF-8", text, v)
			}
		}
		if !utf8.ValidString(text) {
			return
		}
		for _, quote := range []byte{'\'', '"'} {
			again, err := parsePythonList(python(values, quote))
			if err != nil || !slices.Equal(again, values) {
				t.Fatalf("%q gave %q, and written as %s it is %q, %v", text, values, python(values, quote), again, err)
			}
		}
	})
}
