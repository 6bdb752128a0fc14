package reply

import (
	"testing"

	"example.org/conclave/internal/corpus"
)

// TestLink: a passage of the web has an address that leads a browser to its words, escaped as text fragments are (the
// standard's text-directive), and others have none.
func TestLink(t *testing.T) {
	const page = "https://docs.example.org/a.html"
	for _, c := range []struct {
		name, source, mediaType, text string
		page                          int
		want                          string
	}{
		{"short", page, "text/html", "Open from nine to five.", 0, page + "#:~:text=Open%20from%20nine%20to%20five."},
		{"long", page, "text/html", "one two three four five six seven eight nine ten eleven twelve thirteen", 0, page + "#:~:text=one%20two%20three%20four%20five%20six,eight%20nine%20ten%20eleven%20twelve%20thirteen"},
		{"of two paragraphs", page, "text/html", "First words.\n\nLast, well-known & other words.", 0, page + "#:~:text=First%20words.,Last%2C%20well%2Dknown%20%26%20other%20words."},
		{"a list", page, "text/html", "1. Bees\n2. Foxes", 0, page + "#:~:text=Bees,Foxes"},
		{"a table", page, "text/html", "Name | Price\nTea | 3", 0, page},
		{"letters of all scripts", page, "text/html", "Größe 大小", 0, page + "#:~:text=Gr%C3%B6%C3%9Fe%20%E5%A4%A7%E5%B0%8F"},
		{"with a fragment", page + "#part", "text/plain", "Words.", 0, page + "#part:~:text=Words."},
		{"a PDF", "http://a.example/b.pdf", "application/pdf", "Words.", 4, "http://a.example/b.pdf#page=4"},
		{"of another type", "http://a.example/b.docx", "application/msword", "Words.", 4, "http://a.example/b.docx"},
		{"a file", "wiki/a.html", "text/html", "Words.", 0, ""},
		{"a script", "javascript:alert(1)", "text/html", "Words.", 0, ""},
	} {
		p := corpus.Passage{
			ID: "d#1", Text: "Heading\n" + c.text,
			Metadata: map[string]any{
				corpus.DocumentKey: "d", corpus.DocumentSourceKey: c.source, corpus.MediaTypeKey: c.mediaType,
				corpus.BeginKey: int64(0), corpus.EndKey: int64(len(c.text)),
			},
		}
		if c.page > 0 {
			p.Metadata[corpus.PageKey] = int64(c.page)
		}
		if got := PlaceOf(&p).Link; got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
}
