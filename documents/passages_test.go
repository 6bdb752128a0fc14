package documents

import (
	"slices"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
)

// TestPassagesOf makes sure that passages tell of which document they are, and that its
// text can be put together from them, before and after they were stored.
func TestPassagesOf(t *testing.T) {
	changed := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, c := range []struct {
		name, text string
		usual      int
	}{
		{"headings between passages", "# A\n\none two\n\n## B\n\nthree\n\nfour five\n\n# C\n\nsix", 10},
		{"a heading at the end", "# A\n\none two\n\n# C", 10},
		{"a heading alone at the beginning", "# A\n\n## B\n\none", 10},
		{"rows", "| N | V |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n| c | 3 |\n", 6},
		{"items with a lead", "Check these:\n\n- a b c d e f\n- g h i j k l\n- m n o p q r\n", 6},
		{"sentences", "A b c d. E f g h.  I j k l. M n o p.", 8},
		{"code with blank lines", "```\na b c d\n\n\ne f g h\n\ni j k l\n```\n", 4},
	} {
		d := readOf(t, c.text)
		about := About{
			ID: "x/y.md", Source: "https://example.org/y", Modified: changed,
			Tags: []string{"t"}, Metadata: map[string]any{"year": int64(2026)},
		}
		passages := PassagesOf(about, d, []byte(c.text), c.usual)
		for i := range passages {
			if err := passages[i].Check(); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			record, err := passages[i].AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := passages[i].UnmarshalBinary(record); err != nil {
				t.Fatal(err)
			}
			of, number, ok := corpus.DocumentOf(&passages[i])
			right := ok && number == i+1 && of.ID == "x/y.md" && of.Source == about.Source && of.Passages == len(passages)
			right = right && of.Modified.Equal(changed) && of.MediaType == d.MediaType
			if !right || !slices.Equal(of.Tags, about.Tags) || len(of.Metadata) != 1 {
				t.Errorf("%s: passage %d says it is number %d (%v) of %+v", c.name, i+1, number, ok, of)
			}
		}
		text, err := corpus.JoinDocument(passages)
		if err != nil || text != d.Text {
			t.Errorf("%s: put together: %q, %v\nread: %q", c.name, text, err, d.Text)
		}
		if len(passages) > 1 {
			if _, err := corpus.JoinDocument(passages[1:]); err == nil {
				t.Errorf("%s: a document without its first passage has a text", c.name)
			}
		}
	}
}
