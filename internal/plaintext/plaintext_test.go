package plaintext

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestRemedies: the line converts what the text is, and a shell takes it as it is meant.
func TestRemedies(t *testing.T) {
	for want, e := range map[string]*Error{
		"Convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > FILE.utf8":                       Wrong([]byte("caf\xe9 \x93so\x94")),
		"Convert it, if you know its encoding: iconv -f ENCODING -t UTF-8 FILE > FILE.utf8": Wrong([]byte("\x81\x40")),
		`Convert it: iconv -f UTF-16BE -t UTF-8 'it'\''s $1.tsv' > 'it'\''s $1.tsv.utf8'`:   {Encoding: "UTF-16BE", File: "it's $1.tsv"},
		"Convert it: gzip -dc < a/b.tsv.gz | iconv -f WINDOWS-1252 -t UTF-8 > a/b.tsv.utf8": {Encoding: "WINDOWS-1252", File: "a/b.tsv.gz", Packed: true},
	} {
		if got := e.Remedy(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestBeginnings(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                         "plain",
		"\xef\xbb\xbfmarked":            "marked",
		"\xff\xfea\x00\xac\x20":         "a€",
		"\xfe\xff\x00a\x20\xac":         "a€",
		"\xff\xfe\x3d\xd8\x00\xde":      "😀",
		"":                              "",
		"\xff\xfe":                      "",
		"a\x00b\x00c\x00":               "UTF-16LE",
		"\x00a\x00b\x00c":               "UTF-16BE",
		"\x00\x00\xfe\xff\x00\x00\x00a": "UTF-32BE",
		"two \x00 NULs \x00 inside":     "two \x00 NULs \x00 inside",
		"caf\xe9":                       "caf\xe9",
	} {
		in, err := NewReader(bufio.NewReader(strings.NewReader(text)))
		var wrong *Error
		if errors.As(err, &wrong) {
			if wrong.Encoding != want {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		got, err := io.ReadAll(in)
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
