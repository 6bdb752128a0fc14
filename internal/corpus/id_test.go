package corpus

import (
	"errors"
	"strings"
	"testing"
)

// TestIDs: an id that a client that normalises addresses would change, or that looks like another one, is refused with
// the reason. One that an earlier version took stays readable.
func TestIDs(t *testing.T) {
	for id, reason := range map[string]string{
		"a": "", "wiki/42": "", "a b&c%d é": "", "..a/b..": "", "...": "", "a//b": "", "/a": "", "a/": "", "%2e%2e": "",
		"ünïcode/日本語": "", "❤\ufe0f": "", "#1": "", "a/..#1": "",
		".": "step", "..": "step", "a/../b": "step", "../b": "step", "a/..": "step", "./a": "step", "a/./b": "step",
		"a/.": "step", "/..": "step",
		"a\u200bb": "U+200B at byte 2", "\u202eab": "U+202E at byte 1", "ab\u2066": "U+2066", "a\u00adb": "U+00AD",
		"a\ufeffb": "U+FEFF", "a\u2028b": "U+2028", "a\u3164b": "U+3164", "a\U000e0041": "U+E0041", "a\u200db": "U+200D",
		"a\u034fb": "U+034F", "a\x7f": "control", "a\u0085b": "control", "": "missing", "\xff": "UTF-8",
	} {
		p := Passage{ID: id, Text: "x"}
		err := p.Check()
		var field *FieldError
		if reason == "" {
			if err != nil {
				t.Errorf("%q: %v", id, err)
			}
		} else if !errors.As(err, &field) || field.Field != "id" || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, not %s", id, err, reason)
		}
		taken := strings.HasPrefix(reason, "step") || strings.HasPrefix(reason, "U+") // by earlier versions
		if stored := p.CheckStored(); taken && stored != nil {
			t.Errorf("%q as it is stored: %v", id, stored)
		}
	}
}
