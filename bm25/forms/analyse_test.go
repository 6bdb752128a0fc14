package forms

import (
	"bufio"
	"compress/gzip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"example.org/conclave/bm25/internal/words"
)

// unescape reads what testdata/lucene/Analyse.java wrote: UTF-16 units as \uXXXX.
func unescape(t testing.TB, s string) string {
	t.Helper()
	var units []uint16
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			units = append(units, uint16(s[i]))
			continue
		}
		u, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
		if err != nil {
			t.Fatal(err)
		}
		units = append(units, uint16(u))
		i += 5
	}
	return string(utf16.Decode(units))
}

// TestAnalyseAsLucene compares terms with Lucene 9.12.1's EnglishAnalyzer on
// sentences in many scripts, mixtures of the characters that the word rules
// name, words around the length at which they are cut, made-up words with
// English suffixes, and both ends of every range of code points of a class.
func TestAnalyseAsLucene(t *testing.T) {
	file, err := os.Open("testdata/lucene/analysis.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(unzipped)
	scanner.Buffer(nil, 1<<20)
	n := 0
	for ; scanner.Scan(); n++ {
		text, terms, _ := strings.Cut(scanner.Text(), "\t")
		var want []string
		for _, term := range strings.Fields(terms) {
			want = append(want, unescape(t, term))
		}
		if got := Analyse(unescape(t, text)); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 7000 {
		t.Fatalf("only %d lines", n)
	}
}

func TestAnalyseOddities(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	pieces := slices.Repeat([]string{strings.Repeat("x", 255)}, 392)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"only stop words", "To be, or not to BE", nil},
		{"bytes that are not UTF-8 separate words", "wind\xffmill \xc3 \xf0\x9f\x98", []string{"wind", "mill"}},
		{"a surrogate written as UTF-8", "wind\xed\xa0\x80mill", []string{"wind", "mill"}},
		{"a zero byte", "wind\x00mill", []string{"wind", "mill"}},
		{"a word of 100,000 letters", long, append(pieces, strings.Repeat("x", 40))},
		{"100,000 joiners", strings.Repeat("_", 100_000), nil},
		{"100,000 joiners and a letter", strings.Repeat("_", 100_000) + "a", []string{strings.Repeat("_", 254) + "a"}},
	} {
		if got := Analyse(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %.300q, want %.300q", c.name, got, c.want)
		}
	}
}

// FuzzAnalyse holds the analyser to what is true of any text: it does not
// panic, terms are UTF-8, not empty and not longer than a word may be, words do
// not overlap, and a byte that is not UTF-8 is as good as U+FFFD.
func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{"", "It's a dog's life", "\xff\xfe", "a_b 1,000.5 צה״ל 👩‍👩‍👧 ไทย 한국어", strings.Repeat("_", 600), strings.Repeat("\u200d", 300) + "❤"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := Analyse(text)
		for _, term := range terms {
			if term == "" || !utf8.ValidString(term) || len(term) > 4*words.MaxUnits {
				t.Fatalf("term %q", term)
			}
		}
		if valid := Analyse(strings.ToValidUTF8(text, "\ufffd")); !slices.Equal(valid, terms) {
			t.Fatalf("with U+FFFD for bytes that are not UTF-8: %q, with the bytes: %q", valid, terms)
		}
		rest := text
		scanner := words.Of(text)
		for word := scanner.Next(); word != ""; word = scanner.Next() {
			_, after, found := strings.Cut(rest, word)
			if !found {
				t.Fatalf("word %q is not in %q, what the words before it leave of the text", word, rest)
			}
			rest = after
		}
	})
}
