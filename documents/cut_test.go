package documents

import (
	"slices"
	"strings"
	"testing"
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
		{"a sentence stays whole", "A b c d e f g h i j k l. M.", 4,
			[]string{": A b c d e f g h i j k l.", ": M."}},
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
