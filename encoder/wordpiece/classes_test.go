package wordpiece

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every character, alone between two letters, against the reference
// tokenizer's normaliser and pre-tokenizer (testdata/codepoints.py), for the
// four settings of lower-casing and stripping accents.
func TestEveryCharacterAgainstTheReference(t *testing.T) {
	file, err := os.Open("testdata/codepoints.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	classes := newClasses()
	normal := &normaliser{classes: classes, ideographs: true}
	checked, wrong, newer := 0, 0, 0
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		line := lines.Text()
		if setting, ok := strings.CutPrefix(line, "# "); ok {
			if _, err := fmt.Sscanf(setting, "%t %t", &normal.lowerCase, &normal.stripAccents); err != nil {
				t.Fatal(err)
			}
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		first, last := codepoint(t, fields[0]), codepoint(t, fields[1])
		for r := first; r <= last; r++ {
			if 0xD800 <= r && r < 0xE000 {
				continue // surrogates are no characters
			}
			checked++
			var got []string
			classes.splitWords(normal.normalise("x"+string(r)+"y"), func(word string) bool {
				got = append(got, word)
				return true
			})
			want := wordsOf(t, r, fields[2])
			switch {
			case slices.Equal(got, want):
			case newerThanGo(r):
				newer++
			default:
				if wrong++; wrong < 20 {
					t.Errorf("%U, lower-case %t, strip accents %t: %+q, the reference says %+q",
						r, normal.lowerCase, normal.stripAccents, got, want)
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if want := 4 * (0x110000 - 0x800); checked != want {
		t.Errorf("compared %d characters, want %d", checked, want)
	}
	t.Logf("%d comparisons, %d differ, %d of characters that Go does not know yet", checked, wrong, newer)
}

// newerThanGo says whether r is one of the 55 capitals of Unicode 16 and 17
// whose small letter Go's tables (Unicode 15) do not have, or the one letter
// of Unicode 13 that Go takes apart and the reference does not. None is in a
// published BERT vocabulary, so both sides answer [UNK].
func newerThanGo(r rune) bool {
	return r == 0x1C89 || 0xA7CB <= r && r <= 0xA7DC || 0x10D50 <= r && r <= 0x10D65 ||
		0x16EA0 <= r && r <= 0x16EB8 || r == 0x11938
}

func wordsOf(t *testing.T, r rune, kind string) []string {
	switch {
	case kind == ".":
		return []string{"x" + string(r) + "y"}
	case kind == "-":
		return []string{"xy"}
	case kind == "_":
		return []string{"x", "y"}
	case kind == "p", kind == "i":
		return []string{"x", string(r), "y"}
	case kind == "h":
		n := r - 0xAC00
		jamo := []rune{0x1100 + n/588, 0x1161 + n%588/28}
		if n%28 != 0 {
			jamo = append(jamo, 0x11A7+n%28)
		}
		return []string{"x" + string(jamo) + "y"}
	case strings.HasPrefix(kind, "="):
		var words []string
		for word := range strings.SplitSeq(kind[1:], "/") {
			var runes []rune
			for point := range strings.SplitSeq(word, ",") {
				runes = append(runes, codepoint(t, point))
			}
			words = append(words, string(runes))
		}
		return words
	}
	t.Fatalf("unknown kind %q", kind)
	return nil
}

func codepoint(t *testing.T, s string) rune {
	n, err := strconv.ParseInt(s, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return rune(n)
}
