package web_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"example.org/conclave/handlers/web"
	"example.org/conclave/internal/testing/realclients"
)

var (
	counted    = regexp.MustCompile(`\bcount\([^"\n]*?, "([a-z]+)"(?:, "([a-z]+)")?\)`)
	translated = regexp.MustCompile(`(?m)^  (".*?[^\\]"): (".*"),$`)
	hole       = regexp.MustCompile(`\{\d*\}`)
)

// templates returns the texts that src has in templates with the tag t, {} in the place of each value.
func templates(src string) []string {
	var found []string
	var read func(at int, tagged bool) int // from behind a backquote to behind its pair
	read = func(at int, tagged bool) int {
		var text strings.Builder
		for at < len(src) && src[at] != '`' {
			if !strings.HasPrefix(src[at:], "${") {
				text.WriteByte(src[at])
				at++
				continue
			}
			text.WriteString("{}")
			at += 2
			for depth := 1; depth > 0; at++ {
				switch src[at] {
				case '{':
					depth++
				case '}':
					depth--
				case '`':
					at = read(at+1, strings.HasSuffix(src[:at], "t") && !isLetter(src[at-2])) - 1
				}
			}
		}
		if tagged {
			found = append(found, text.String())
		}
		return at + 1
	}
	for at := 0; at < len(src); {
		next := strings.IndexByte(src[at:], '`')
		if next < 0 {
			break
		}
		at += next
		at = read(at+1, at > 1 && src[at-1] == 't' && !isLetter(src[at-2]))
	}
	return found
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// TestTemplates: the texts are found in nested templates, too, and other templates are not.
func TestTemplates(t *testing.T) {
	const src = "h(t`one ${x ? `no ${t`two`}` : {a: 1}} end`, `three ${t`four`}`, at`five`, t`six`)"
	want := []string{"two", "one {} end", "four", "six"}
	if got := templates(src); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTextsAreTranslated: every language has a translation, with the same values, of each text of the page, and of
// nothing else.
func TestTextsAreTranslated(t *testing.T) {
	files := web.Files()
	wanted := map[string]bool{}
	scripts, err := fs.Glob(files, "app/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range scripts {
		if strings.HasPrefix(name, "app/texts.") {
			continue
		}
		src := readFile(t, files, name)
		for _, text := range templates(src) {
			wanted[text] = true
		}
		for _, m := range counted.FindAllStringSubmatch(src, -1) {
			many := m[2]
			if many == "" {
				many = m[1] + "s"
			}
			wanted["{} "+m[1]], wanted["{} "+many] = true, true
		}
	}
	if len(wanted) < 200 {
		t.Fatalf("only %d texts were found", len(wanted))
	}
	for _, text := range staticTexts(readFile(t, files, "index.html")) {
		wanted[text] = true
	}
	for _, language := range []string{"de", "es", "fr", "ja", "zh"} {
		texts := map[string]string{}
		for _, m := range translated.FindAllStringSubmatch(readFile(t, files, "app/texts."+language+".js"), -1) {
			var pair [2]string
			for i := range pair {
				if err := json.Unmarshal([]byte(m[i+1]), &pair[i]); err != nil {
					t.Fatalf("%s: %s: %v", language, m[i+1], err)
				}
			}
			texts[pair[0]] = pair[1]
		}
		for _, text := range slices.Sorted(maps.Keys(wanted)) {
			if texts[text] == "" {
				t.Errorf("%s: %q is not translated", language, text)
			} else if a, b := strings.Count(text, "{}"), len(hole.FindAllString(texts[text], -1)); a != b {
				t.Errorf("%s: %q has %d values, %q has %d", language, text, a, texts[text], b)
			}
		}
		for _, text := range slices.Sorted(maps.Keys(texts)) {
			if !wanted[text] {
				t.Errorf("%s: %q is on no page", language, text)
			}
		}
	}
}

func readFile(t *testing.T, files fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// staticTexts returns the texts and labels of a page's body that have words, without the product's name and what is
// shown where there is no JavaScript.
func staticTexts(page string) []string {
	var found []string
	add := func(text string) {
		text = strings.TrimSpace(text)
		if text != "" && text != "conclave" && text != "API" {
			found = append(found, text)
		}
	}
	_, page, _ = strings.Cut(page, "<body>")
	tokens := html.NewTokenizer(strings.NewReader(page))
	skipping := false
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		token := tokens.Token()
		if token.Data == "noscript" {
			skipping = kind == html.StartTagToken
		}
		for _, a := range token.Attr {
			if a.Key == "aria-label" {
				add(a.Val)
			}
		}
		if kind == html.TextToken && !skipping {
			add(token.Data)
		}
	}
	return found
}

// TestLanguagesInBrowser: the page speaks the browser's language, as testdata/languages.mjs says, and shows texts that
// are read from right to left so. CONCLAVE_TEST_SHOTS names a folder for screenshots.
func TestLanguagesInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	server := realclients.Server(t, realclients.ServerOptions{Passages: realclients.Demo(t, "tales") + `
{"id":"sea","title":"הים","text":"הים התיכון נמצא בין אירופה לאפריקה. המים שלו מלוחים."}
`})
	t.Log(
		realclients.Run(
			t,
			realclients.Command{
				Interpreter: node,
				Args:        []string{filepath.Join("testdata", "languages.mjs")},
				Env:         []string{"SERVER=" + server, "SHOTS=" + os.Getenv("CONCLAVE_TEST_SHOTS")},
			},
		),
	)
}
