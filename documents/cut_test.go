package documents

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// read makes a document of Markdown.
func readOf(t *testing.T, markdown string) *Document {
	t.Helper()
	d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.md", Data: []byte(markdown)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCut compares pieces with what a person would cut. The numbers are what pieces
// usually have.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		name, text string
		usual      int
		want       []string // heading path: text
	}{
		{"sections", "# A\n\none two\n\n## B\n\nthree\n\nfour five\n\n# C\n\nsix", 10,
			[]string{"A: one two", "A › B: three\n\nfour five", "C: six"}},
		{"paragraphs before sentences", "a b c. d e f.\n\ng h i. j k l.", 8,
			[]string{": a b c. d e f.", ": g h i. j k l."}},
		{"sentences of a long paragraph", "A b c d. E f g h. I j k l. M n o p.", 8,
			[]string{": A b c d. E f g h.", ": I j k l. M n o p."}},
		{"a sentence stays whole", "A b c d e f. M.", 4,
			[]string{": A b c d e f.", ": M."}},
		{"a sentence that is too long ends between words", "A b c d e f g h i j k l. M.", 4,
			[]string{": A b c d", ": e f g h", ": i j k l. M."}},
		{"or behind a clause", "A b c d e f g, h 1.5 i j k l m n. O.", 8,
			[]string{": A b c d e f g,", ": h 1.5 i j k l m n. O."}},
		{"rows keep their header", "| N | V |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n| c | 3 |\n", 6,
			[]string{": N | V\na | 1", ": N | V\nb | 2\nc | 3"}},
		{"items keep their lead", "Check these:\n\n- a b c d e f\n- g h i j k l\n- m n o p q r\n", 6,
			[]string{": Check these:\n\na b c d e f", ": Check these:\ng h i j k l", ": Check these:\nm n o p q r"}},
		{"code is not torn", "Do this:\n\n```\na b\n  c d\n```\n\nand e f g h i j.", 8,
			[]string{": Do this:\n\na b\n  c d", ": and e f g h i j."}},
		{"a title stands above headings of its level", "# T\n\n# A\n\nx\n\n# B\n\ny", 8,
			[]string{"T › A: x", "T › B: y"}},
		{"an empty section is a piece", "# A\n\n## B\n\n## C\n\nd", 8,
			[]string{"A: B", "A › C: d"}},
	} {
		d := readOf(t, c.text)
		var got []string
		for _, p := range Cut(d, c.usual, words) {
			got = append(got, strings.Join(p.Headings, " › ")+": "+p.Text(d))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestCutSmall: short pieces of a PDF are joined, and each heading above them is among their headings or in their text,
// on its page.
func TestCutSmall(t *testing.T) {
	for _, c := range []struct {
		name, text string // a heading begins with #, a page with >
		usual      int
		want       []string // pages, heading path: text
	}{
		{"sections", "# A\na a\n# B\nb b\n# C\nc c c c c c c c\n# D\nd d d d d d d d", 20,
			[]string{"1-0 : A|a a|B|b b|C|c c c c c c c c", "1-0 D: d d d d d d d d"}},
		{"one above both", "# A\n## B\nb b\n## C\nc c c c c\n## D\nd\n# E\ne e e e e e e e", 20,
			[]string{"1-0 A: B|b b|C|c c c c c|D|d", "1-0 E: e e e e e e e e"}},
		{"below its own heading", "# A\n## B\nb b b b b b b b\n# C\nc\n## D\nd d d d d d d d", 20,
			[]string{"1-0 A › B: b b b b b b b b", "1-0 C › D: c|D|d d d d d d d d"}},
		{"the last of its chapter", "# A\n## B\nb b b b b b b b\n## C\nc\n# D\nd d d d d d d d", 20,
			[]string{"1-0 A: B|b b b b b b b b|C|c", "1-0 D: d d d d d d d d"}},
		{"a heading is not at hand", "# A\na a a a a a a a a\na a a a a a a a b\n# C\nc", 8,
			[]string{"1-0 A: a a a a a a a a a", "1-0 A: a a a a a a a a b", "1-0 C: c"}},
		{"without spaces", "# 甲\n硬い表現を避けて読みやすい文章を書く\n# 乙\n次の節", 20,
			[]string{"1-0 : 甲|硬い表現を避けて読みやすい文章を書く|乙|次の節"}},
		{"long without spaces", "# 甲\n硬い表現を避けて読みやすい文章を書くことは読む人のためになるので大切である\n# 乙\n b b b b b b b b", 40,
			[]string{"1-0 甲: 硬い表現を避けて読みやすい文章を書くことは読む人のためになるので大切である", "1-0 乙: b b b b b b b b"}},
		{"of one section", "# A\na a\na a a a a a a a a a a a a a a a\na b", 8,
			[]string{"1-0 A: a a|a a a a a a a a", "1-0 A: a a a a a a a a|a b"}},
		{"with the headings too long", "# A b c d e f g h i j\na a\n# B\nb b b b b b", 10,
			[]string{"1-0 A b c d e f g h i j: a a", "1-0 B: b b b b b b"}},
		{"over a page", "# A\n>a a\n# B\n>b b", 20, []string{"1-3 : A|a a|B|b b"}},
	} {
		w := &writer{limits: limits(), page: 1}
		for block := range strings.SplitSeq(c.text, "\n") {
			block, next := strings.CutPrefix(block, ">")
			if next {
				w.page++
			}
			text := strings.TrimLeft(block, "#")
			if level := len(block) - len(text); level > 0 {
				w.add(Heading, level, strings.TrimSpace(text))
			} else {
				w.add(Paragraph, 0, text)
			}
		}
		d, err := w.document(PDF, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range Cut(d, c.usual, sizeOf) {
			text := strings.ReplaceAll(p.Text(d), "\n\n", "|")
			got = append(got, fmt.Sprintf("%d-%d %s: %s", p.Page, p.PageEnd, strings.Join(p.Headings, " › "), text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestCutFits: no piece is longer than a piece may be, whatever a text is made of, and nothing but
// white space stands between pieces.
func TestCutFits(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	signs := []rune("abcdefghij XYZ 0123456789 .,;:!?-/_{}\"' \n漢字。、한국 ไทย éß жд 😀")
	texts := map[string]string{
		"no mark":   strings.Repeat("alpha beta gamma ", 2000),
		"one word":  strings.Repeat("0aF+", 5000),
		"no space":  strings.Repeat("漢字仮名交じり文", 700),
		"invalid":   strings.Repeat("a\xff\xfe b", 900),
		"all space": "x" + strings.Repeat(" ", 9000) + "y",
	}
	for i := range 40 {
		var b strings.Builder
		for range rng.IntN(3000) {
			b.WriteRune(signs[rng.IntN(len(signs))])
		}
		texts[fmt.Sprint(i)] = b.String()
	}
	for name, text := range texts {
		for _, kind := range []Kind{Paragraph, Code, Row, Item} {
			w := &writer{limits: limits()}
			w.add(kind, 1, text)
			d, err := w.document("text/plain", "")
			if err != nil {
				continue // nothing but white space
			}
			usual := 1 + rng.IntN(120)
			at := 0
			for _, p := range Cut(d, usual, sizeOf) {
				// A run of letters that was cut in two may have one token more than its parts.
				if n := sizeOf(p.Text(d)); n*8 > Longest(usual)*9+8 && p.End-p.Begin > utf8.UTFMax {
					t.Errorf("%s, %v: %d words of at most %d: %.60q", name, kind, n, Longest(usual), p.Text(d))
				}
				if strings.TrimSpace(d.Text[at:p.Begin]) != "" || p.End <= p.Begin || !utf8.ValidString(p.Text(d)) {
					t.Fatalf("%s, %v: bytes %d to %d behind %d: %.60q", name, kind, p.Begin, p.End, at, d.Text[at:p.End])
				}
				at = p.End
			}
			if strings.TrimSpace(d.Text[at:]) != "" {
				t.Errorf("%s, %v: %.60q is in no piece", name, kind, d.Text[at:])
			}
		}
	}
}

// TestSize compares lengths with the tokens that the tokenizer of the shipped encoders makes of
// the same texts (`tokenizers` of PyPI), divided by what a word stands for.
func TestSize(t *testing.T) {
	for text, want := range map[string]int{
		"The quick brown fox jumps over the lazy dog.":                                  9,
		"return fmt.Errorf(\"%s: %w\", name, err)":                                      13, // 20 tokens
		"汵駛鎩庱絚魍読鸗顙噣鮄侯訏漲":                                                                9,  // 14 tokens
		"SN-48213-2291/B, 0x80070005":                                                   12, // 19 tokens
		"internationalisation of getElementsByTagNameNS and setUserPreferencesOnServer": 11, // 18 tokens
	} {
		if got := sizeOf(text); got < want*3/4 || got > want*5/4 {
			t.Errorf("%q: %d words, want about %d", text, got, want)
		}
	}
}

// TestLines: lines that were ended on purpose stay lines, and those of a wrapped paragraph become one.
func TestLines(t *testing.T) {
	long := strings.Repeat("a line for a whole paragraph ", 5)
	for text, want := range map[string]string{
		"The pump of the second series leaks where the\ngasket was not changed in time, which the\nmanual says.": "The pump of the second series leaks where the gasket was not changed in time, which the manual says.",
		"[10:02] Anna: does it leak?\n[10:03] Ben: yes\n[10:07] Anna: which part is it?\n[10:08] Ben: A-1234/B":  "",
		"Conclave Ltd\n12 Mill Lane\nLund\nSweden":                                                               "",
		"Dear customer,\nyour pump was sent to the address that you named":                                       "",
		long + "\n" + long: strings.TrimSpace(long) + "\n\n" + strings.TrimSpace(long),
		"one line":         "",
	} {
		d, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.txt", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		if d.Text != cmp.Or(want, text) {
			t.Errorf("%q is read as %q", text, d.Text)
		}
	}
}
