package wording

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLongTextsAreCut: whatever a text is, what is shown of it is valid, short, and begins as
// the text does; what is shown whole has no ellipsis.
func TestLongTextsAreCut(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("ä", 100), strings.Repeat("日", 100), strings.Repeat("😀", 40), "\xff\n" + strings.Repeat("y", 200)} {
		short := Shorten(text)
		if len(short) > 128 || len(text) > 128 && !utf8.ValidString(short) {
			t.Errorf("%q is shown as %q", text, short)
		}
		head, cut := strings.CutSuffix(short, "…")
		if cut != (len(text) > 128) || !cut && short != text {
			t.Errorf("%q is shown as %q", text, short)
		}
		if !strings.HasPrefix(strings.ToValidUTF8(text, ""), head) {
			t.Errorf("%q does not begin with %q", text, head)
		}
	}
	for text, want := range map[string]string{
		"plain": `"plain"`, "a\n\"b\"": `"a\n\"b\""`,
		strings.Repeat("é", 70): `"` + strings.Repeat("é", 32) + `"…`,
		strings.Repeat("日", 70): `"` + strings.Repeat("日", 21) + `"…`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("Quote(%q) is %s, want %s", text, got, want)
		}
	}
}

// TestPointers: the examples of RFC 6901, section 5.
func TestPointers(t *testing.T) {
	for key, want := range map[string]string{"foo": "/foo", "": "/", "a/b": "/a~1b", "c%d": "/c%d", "m~n": "/m~0n", "~1": "/~01", " ": "/ "} {
		if got := Pointer("", key); got != want {
			t.Errorf("the pointer of %q is %q, want %q", key, got, want)
		}
	}
	if got := Pointer(Pointer("/foo", 0), "x"); got != "/foo/0/x" {
		t.Error(got)
	}
}

// TestLists: a list of more than twenty names says how many more there are.
func TestLists(t *testing.T) {
	if got := List([]string{"a", "b"}); got != "a, b" {
		t.Error(got)
	}
	got := List(make([]string, 25))
	if strings.Count(got, ", ") != 19 || !strings.HasSuffix(got, " and 5 more") {
		t.Error(got)
	}
}
