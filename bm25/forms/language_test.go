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

// FuzzLanguages: no text makes an analysis fail, terms are UTF-8 and not empty, and there are as many pairs as words.
func FuzzLanguages(f *testing.F) {
	f.Add("第3回 北海道-旭川", "用wi-fi连接 สวัสดี\xffชาวโลก 한국어 カタカナ_x ｶﾞ l'eau du père’s don't")
	f.Fuzz(func(t *testing.T, title, text string) {
		for _, a := range []Analysis{OfLanguage("zh"), OfLanguages([]string{"en", "de", "fr", "tr", "ar"})} {
			all := a.Words(title, text)
			for _, term := range all {
				if term == "" || !utf8.ValidString(term) {
					t.Fatalf("%s: term %q", a, term)
				}
			}
			if pairs := a.Pairs(title, text); len(pairs) != len(all) {
				t.Fatalf("%s: %d pairs, %d words", a, len(pairs), len(all))
			}
			a.Forms(title, text)
			a.Asked(text)
		}
	})
}

// TestSeveralLanguages: with an analysis of several languages a question's word finds a passage's word in another
// inflection, in each of the languages, and in its own form through the term; its function words ask for nothing.
func TestSeveralLanguages(t *testing.T) {
	several := OfLanguages([]string{"de", "en", "fr"})
	if got := several.String(); got != "unicode-en+de+fr" {
		t.Fatalf("the analysis is %s", got)
	}
	if again, err := ParseAnalysis("unicode-de+fr+en"); again != several || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	if known, ok := AnalysisOf(several.Version()); known != several || !ok {
		t.Errorf("a file's version is read as %v, %t", known, ok)
	}
	for _, name := range []string{"unicode-en+xx", "unicode-+de", "unicode-de+"} {
		if a, err := ParseAnalysis(name); err == nil {
			t.Errorf("%q is %v", name, a)
		}
	}
	for asked, passage := range map[string]string{
		"Häuser": "das alte Haus", "Haus": "alte Häusern", "hauser": "die Häuser", "schoen": "schöne Türen",
		"running": "he runs", "baker's": "the bakers",
		"élève": "les élèves", "eleve": "des élèves", "eau": "de l'eau",
		"天气": "今天天气好", "wifi": "Wi-Fi",
	} {
		if !meets(several, asked, passage) {
			t.Errorf("%q does not find %q: terms %q, asked %q; passage %q and %q", asked, passage, several.QuestionTerms(asked),
				several.AskedWords(asked), several.Words("", passage), several.Forms("", passage))
		}
	}
	for asked, want := range map[string]string{
		"was kostet die Fahrt nach Lyon": "kostet fahrt lyon",
		"what was the war about":         "war",
		"où est la gare de Lyon":         "gare lyon",
		"what is the":                    "what is the",
		"the war":                        "war",
	} {
		if got := strings.Join(several.QuestionTerms(asked), " "); got != want {
			t.Errorf("%q asks for %q, want %q", asked, got, want)
		}
	}
}

// meets reports whether a passage has a term or a variant of a question.
func meets(a Analysis, question, passage string) bool {
	asked := append(a.QuestionTerms(question), a.AskedWords(question)...)
	return slices.ContainsFunc(append(a.Words("", passage), a.Forms("", passage)...), func(entry string) bool {
		return slices.Contains(asked, entry)
	})
}

// TestOfLanguages: languages that are analysed alike have that analysis.
func TestOfLanguages(t *testing.T) {
	for want, codes := range map[string][]string{
		"unicode": nil, "unicode-de": {"de"}, "unicode-no": {"nb", "nn"}, "unicode-unspaced": {"zh", "ja"},
		"unicode-en+unspaced": {"zh", "en"}, "unicode-de+es": {"es", "de"},
	} {
		if got := OfLanguages(codes).String(); got != want {
			t.Errorf("%q: %s, want %s", codes, got, want)
		}
	}
	if got := OfLanguages([]string{"en", "pl"}); got != Unicode {
		t.Errorf("English and Polish, of which there is no stemmer: %v", got)
	}
}
