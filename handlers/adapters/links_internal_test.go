package adapters

import (
	"fmt"
	"strings"
	"testing"
)

// TestLinkFilter, by hand: no link but to an allowed address is left, wherever the text is cut into pieces.
func TestLinkFilter(t *testing.T) {
	const cited = "https://example.org/lamp?x=1"
	for text, want := range map[string]string{
		"The lamp [1].":                          "The lamp [1].",
		"![p](http://evil.example/?q=secret)":    "![p] (http: //evil.example/?q=secret)",
		"[x](javascript:alert(1))":               "[x] (javascript:alert(1))",
		"[the lamp](" + cited + ") and more":     "[the lamp](" + cited + ") and more",
		"[the lamp](" + cited + "&y=2)":          "[the lamp] (https: //example.org/lamp?x=1&y=2)",
		"see " + cited + ".":                     "see " + cited + ".",
		"see (" + cited + "), then":              "see (" + cited + "), then",
		"see HTTP://evil.example now":            "see HTTP: //evil.example now",
		"see www.evil.example":                   "see www. evil.example",
		"[p]: http://evil.example\n\n![p]":       "[p] : http: //evil.example\n\n![p]",
		"<img src=x onerror=y> a<b 1 < 2 </a>":   "< img src=x onerror=y> a< b 1 < 2 < /a>",
		"<" + cited + "> <http://evil.example>":  "<" + cited + "> < http: //evil.example>",
		"[a](<http://evil.example>)":             "[a] (< http: //evil.example>)",
		"[a]( http://evil.example \"t\")":        "[a] ( http: //evil.example \"t\")",
		"[a][b] (c) d](e) ](f":                   "[a][b] (c) d] (e) ] (f",
		"ht www http:x https:/y <":               "ht www http:x https:/y <",
		"日本 [語](http://x) é":                     "日本 [語] (http: //x) é",
		"mailto:a@b.c [m](mailto:a@b.c)":         "mailto: a@b.c [m] (mailto: a@b.c)",
		"![i](data:image/svg+xml;base64,AAAA)":   "![i] (data:image/svg+xml;base64,AAAA)",
		strings.Repeat("[", 5000) + "](http://x": strings.Repeat("[", 5000) + "] (http: //x",
	} {
		for _, size := range []int{1, 2, 3, 7, len(text)} {
			f := &linkFilter{}
			f.allowAddress(cited)
			var out strings.Builder
			for at := 0; at < len(text); at += size {
				out.WriteString(f.filterPiece(text[at:min(at+size, len(text))], false))
			}
			out.WriteString(f.filterPiece("", true))
			if out.String() != want {
				t.Errorf("%.80s in pieces of %d:\n%.200s, not\n%.200s", text, size, out.String(), want)
			}
		}
	}
}

// TestLinkFilterHolds: what is held back of a text is short.
func TestLinkFilterHolds(t *testing.T) {
	f := &linkFilter{}
	for i := range 100 {
		f.filterPiece(fmt.Sprintf("%d http://%s", i, strings.Repeat("x", 5000)), false)
		if len(f.pending) > mostAddress {
			t.Fatalf("%d bytes are held back", len(f.pending))
		}
	}
}
