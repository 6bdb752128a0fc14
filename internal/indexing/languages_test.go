package indexing

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// TestSampledLanguages: the languages of what was kept, the most frequent first.
func TestSampledLanguages(t *testing.T) {
	german := "Die Bibliothek öffnet montags bis freitags um neun Uhr und schließt am Abend um achtzehn Uhr."
	english := "The library opens at nine in the morning from Monday to Friday, and closes at six in the evening."
	s := &Sample{}
	for i := range 9 {
		text := german
		if i%3 == 0 {
			text = english
		}
		s.kept = append(s.kept, corpus.Passage{Text: text})
	}
	if got := s.languages(); !slices.Equal(got, []string{"de", "en"}) {
		t.Errorf("languages are %q", got)
	}
	if got := (&Sample{}).languages(); got != nil {
		t.Errorf("nothing is in %q", got)
	}
}

// TestChooseByLanguage: passages in other languages than English are for the expert that reads many, and their words
// are analysed by these languages; if most are English, they are for the default experts, too. What somebody chose
// stays.
func TestChooseByLanguage(t *testing.T) {
	german := corpus.Passage{Text: "Die Bibliothek öffnet montags bis freitags um neun Uhr und schließt am Abend um achtzehn Uhr."}
	english := corpus.Passage{Text: "The library opens at nine in the morning from Monday to Friday, and closes at six in the evening."}
	chinese := corpus.Passage{Text: "图书馆周一至周五上午九点开门，晚上六点关门。"}
	words := store.UnicodeWords()
	lucene := words
	lucene.Analysis = forms.Lucene
	with, older := configs.Config{Bundles: t.TempDir()}, configs.Config{Bundles: t.TempDir(), Cache: t.TempDir()}
	for _, folder := range []string{
		filepath.Join(with.Bundles, shipped.Multilingual), filepath.Join(with.Bundles, shipped.MultilingualLate),
		filepath.Join(older.Bundles, shipped.Multilingual),
	} {
		if _, err := tiny.Write(folder, tiny.Expert{}); err != nil {
			t.Fatal(err)
		}
	}
	without := configs.Config{Bundles: t.TempDir(), Cache: t.TempDir()}
	for name, c := range map[string]struct {
		o        Options
		first    []corpus.Passage
		experts  []string
		analysis string
		missing  bool
	}{
		"English":         {Options{Config: with}, []corpus.Passage{english, english}, nil, "", false},
		"nothing to read": {Options{Config: with}, nil, nil, "", false},
		"German": {Options{Config: with}, []corpus.Passage{german, german}, []string{"multilingual", "multilingual-late"}, "unicode-de",
			false},
		"Chinese": {Options{Config: with}, []corpus.Passage{chinese}, []string{"multilingual", "multilingual-late"}, "unicode-unspaced", false},
		"German, set up before late interaction was": {Options{Config: older}, []corpus.Passage{german},
			[]string{"multilingual"}, "unicode-de", false},
		"both": {Options{Config: with}, []corpus.Passage{german, english}, []string{"multilingual", "multilingual-late"},
			"unicode-en+de", false},
		"more English": {Options{Config: with}, []corpus.Passage{german, english, english},
			[]string{"base", "late", "multilingual", "multilingual-late"}, "unicode-en+de", false},
		"more English, set up before late interaction was": {
			Options{Config: older}, []corpus.Passage{german, english, english},
			[]string{"base", "late", "multilingual"}, "unicode-en+de", false,
		},
		"German, without it": {Options{Config: without}, []corpus.Passage{german}, []string{"base", "late"}, "unicode-de",
			true},
		"asked for":         {Options{Config: with, Language: "fr"}, []corpus.Passage{english}, []string{"multilingual", "multilingual-late"}, "unicode-fr", false},
		"asked for English": {Options{Config: with, Language: "en"}, []corpus.Passage{german}, nil, "", false},
		"several": {Options{Config: with, Language: LanguageMulti}, nil,
			[]string{"base", "late", "multilingual", "multilingual-late"}, "unicode", false},
		"several, of which one is told": {Options{Config: with, Language: LanguageMulti}, []corpus.Passage{german},
			[]string{"multilingual", "multilingual-late"}, "unicode-en+de", false},
		"with experts": {Options{Config: with, Experts: "base"}, []corpus.Passage{german}, []string{"base"}, "unicode-de",
			false},
		"with none": {Options{Config: with, Experts: "none"}, []corpus.Passage{german}, nil, "unicode-de", false},
		"with Lucene's": {Options{Config: with, Build: store.BuildOptions{Words: lucene}}, []corpus.Passage{german},
			[]string{"multilingual", "multilingual-late"}, "lucene", false},
	} {
		if c.o.Build.Words == (store.WordConstants{}) {
			c.o.Build.Words = words
		}
		got, ok, err := c.o.chooseByLanguage(c.first)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ok != (c.analysis != "") || ok && (!slices.Equal(got.Experts, c.experts) || got.Analysis.String() != c.analysis ||
			got.Missing != c.missing || got.WithoutLate != (c.o.Config.Bundles == older.Bundles)) {
			t.Errorf("%s: %t, %+v", name, ok, got)
		}
	}
	for code, ok := range map[string]bool{"auto": true, "multi": true, "de": true, "zh": true, "": false, "german": false, "xx": false} {
		if err := CheckLanguage(code); (err == nil) != ok {
			t.Errorf("language %q: %v", code, err)
		}
	}
}

// TestToldStream: in a collection in several languages each passage says which is its own, where it is clear; what
// somebody wrote stays.
func TestToldStream(t *testing.T) {
	german := "Die Bibliothek öffnet montags bis freitags um neun Uhr und schließt am Abend um achtzehn Uhr."
	french := "La bibliothèque ouvre ses portes du lundi au vendredi à neuf heures et ferme le soir à dix-huit heures."
	source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(fmt.Sprintf(
		`{"id":"a","text":%q}`+"\n"+`{"id":"b","text":%q,"metadata":{"lang":"bar","x":1}}`+"\n"+`{"id":"c","text":%q}`+"\n"+
			`{"id":"d","text":"E23"}`+"\n", german, german, french)), Format: corpus.Format("jsonl")}})
	if err != nil {
		t.Fatal(err)
	}
	s := &toldStream{source, []string{"de", "en"}}
	for _, want := range []any{"de", "bar", nil, nil} { // French is none of the collection's
		p, err := s.Next()
		if err != nil || p.Metadata[corpus.LanguageKey] != want {
			t.Errorf("%s: %v, %v, want %v", p.ID, p.Metadata, err, want)
		}
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// TestPeek: a stream that was peeked into has the passages, the errors and the places that it had before.
func TestPeek(t *testing.T) {
	open := func() corpus.Stream {
		source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(
			`{"id":"a","text":"one"}` + "\n" + `{"id":"b"` + "\n" + `{"id":"c","text":"three"}` + "\n" + `{"id":"d","text":"four"}` + "\n"),
			Format: corpus.Format("jsonl")}})
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	read := func(s corpus.Stream) (out []string) {
		for {
			p, err := s.Next()
			out = append(out, fmt.Sprint(p.ID, err, s.Place()))
			if errors.Is(err, io.EOF) {
				return out
			}
		}
	}
	want := read(open())
	for n := range 6 {
		s, first := peek(open(), n)
		if got := read(s); !slices.Equal(got, want) || len(first) != min(n, 3) {
			t.Errorf("after %d: %q and %q, want %q", n, first, got, want)
		}
	}
}
