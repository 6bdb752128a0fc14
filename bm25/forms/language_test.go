package forms

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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
	compared := map[Analysis]bool{}
	for line := range strings.Lines(strings.TrimSpace(string(lucene))) {
		code, terms, _ := strings.Cut(line, " ")
		want := strings.Fields(terms)
		got := OfLanguage(code).Terms(texts[code])
		compared[OfLanguage(code)] = true
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s: from term %d: %q, by Lucene %q", code, i, got[min(i, len(got)):min(i+4, len(got))],
					want[min(i, len(want)):min(i+4, len(want))])
				break
			}
		}
	}
	if len(compared) != len(languageRules) {
		t.Errorf("%d analyses in lucene.txt, %d languages have one", len(compared), len(languageRules))
	}
}

// TestUnspacedTerms: characters of scripts without spaces are terms, and each two are, of those whose words need a
// dictionary each three, and what is shorter is a term; other words are terms as they are.
func TestUnspacedTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":          "",
		"天":         "天",
		"天气":        "天 天气 气",
		"天气好。好":     "天 天气 气 气好 好 好",
		"ไป":        "ไป",
		"สวัสดี ไป": "สวั วัส ัสด สดี ไป",
		"天ไป":       "天 ไป",
		"A4纸":       "a4 纸",
		"the トイレ":   "ト トイ イ イレ レ",
	} {
		if got := strings.Join(OfLanguage("th").Terms(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestUnspacedQuestion: what a question is read as, with its places, does not fail where words overlap, and a mark
// between two of them joins nothing.
func TestUnspacedQuestion(t *testing.T) {
	zh := OfLanguage("zh")
	for _, v := range zh.Variants("第3回 北海道-旭川 大阪/京都") {
		if want := []string{FormMark + strings.Join(v.Of, "")}; !slices.Equal(v.Entries, want) {
			t.Errorf("of %q %q, want %q", v.Of, v.Entries, want)
		}
	}
	if got := zh.Forms("", "用wi-fi连接-网络"); len(got) == 0 || got[0] != FormMark+"wifi" || len(got) != 1 {
		t.Errorf("forms %q", got)
	}
}

// FuzzUnspaced: no text makes the analysis fail, terms are UTF-8 and not empty, and there are as many pairs as words.
func FuzzUnspaced(f *testing.F) {
	f.Add("第3回 北海道-旭川", "用wi-fi连接 สวัสดี\xffชาวโลก 한국어 カタカナ_x ｶﾞ")
	f.Fuzz(func(t *testing.T, title, text string) {
		zh := OfLanguage("zh")
		all := zh.Words(title, text)
		for _, term := range all {
			if term == "" || !utf8.ValidString(term) {
				t.Fatalf("term %q", term)
			}
		}
		if pairs := zh.Pairs(title, text); len(pairs) != len(all) {
			t.Fatalf("%d pairs, %d words", len(pairs), len(all))
		}
		zh.Forms(title, text)
		zh.Asked(text)
	})
}
