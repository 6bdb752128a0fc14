package documents

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// readHere reads a file in this process, and returns how many bytes it took of memory on the way.
func readHere(tb testing.TB, name string, data []byte) (d *Document, allocated int, err error) {
	tb.Helper()
	r := NewExtractor(limits(), nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, _, err = r.Read(tb.Context(), Input{Name: name, Data: data})
	if err == nil {
		PassagesOf(About{ID: "a"}, d, data, 100)
	}
	runtime.ReadMemStats(&after)
	return d, int(after.TotalAlloc - before.TotalAlloc), err
}

// cell is a cell of an OpenDocument table that is repeated with its row, and holds something.
const cell = `<table:table><table:table-row table:number-rows-repeated="100">` +
	`<table:table-cell table:number-columns-repeated="100">%s</table:table-cell></table:table-row></table:table>`

// growing are files that took a parser the square of their bytes, or more. Each is made of n of something.
var growing = map[string]func(n int) []byte{
	"columns.md": func(n int) []byte {
		return []byte(strings.Repeat("|a", n) + "|\n" + strings.Repeat("|-", n) + "|\n" + strings.Repeat("|b\n", n))
	},
	"directives.rst": func(n int) []byte {
		return []byte(strings.Repeat(".. a::\n ", n) + strings.Repeat("\n\n.. note::\n\n   a\n", n))
	},
	"open.adoc":   func(n int) []byte { return []byte(strings.Repeat("----\n|===\n|a\n[a]\n", n)) },
	"open.org":    func(n int) []byte { return []byte(strings.Repeat("#+BEGIN_SRC\n:A:\n|a\n", n)) },
	"open.tex":    func(n int) []byte { return []byte(strings.Repeat("\\begin{tabular}{a\n&\\begin{verbatim}", n)) },
	"escapes.man": func(n int) []byte { return []byte(".TH a 1\n" + strings.Repeat("\\f(\\*[.\n.TP\n.B \"a\n", n)) },
	"groups.rtf":  func(n int) []byte { return []byte("{\\rtf1" + strings.Repeat("{\\super a}\\u1?\\cell", n)) },
	"nested.json": func(n int) []byte { return []byte("[" + strings.Repeat("{\"a\":{\"b\":[1,2]}},", n) + "1]") },
	"leaves.xml":  func(n int) []byte { return []byte("<a>" + strings.Repeat("<b>c</b>d<e/>", n) + "</a>") },
	"cues.srt":    func(n int) []byte { return []byte(strings.Repeat("1\n00:00:01,000 --> 00:00:02,000\na\n\n", n)) },
	"spans.html": func(n int) []byte {
		return []byte("<table>" + strings.Repeat("<tr><td rowspan=9999 colspan=9999>a<td>b", n) + "</table>")
	},
	"raised.html":  func(n int) []byte { return []byte(strings.Repeat("a<sup>1</sup><math><mfrac><mn>1<mn>2", n)) },
	"brackets.md":  func(n int) []byte { return []byte(strings.Repeat("[a](", n)) },
	"emphasis.md":  func(n int) []byte { return []byte(strings.Repeat("* _", n)) },
	"code.md":      func(n int) []byte { return []byte(strings.Repeat("\\```\n", n)) },
	"numbered.md":  func(n int) []byte { return []byte(strings.Repeat("1. ", n) + strings.Repeat("\n\n", n)) },
	"footnotes.md": func(n int) []byte { return []byte(strings.Repeat("[^1] ", n) + strings.Repeat("\n\n[^1]: a", n)) },
	"pipes.md": func(n int) []byte {
		return []byte("|a|b|\n|-|-|\n" + strings.Repeat("|`a\\|b`|c|\n", n))
	},
	"heading.md": func(n int) []byte {
		return []byte("# " + strings.Repeat("long ", n) + "\n\n" + strings.Repeat("a paragraph\n\n", n))
	},
	"sections.md": func(n int) []byte {
		long := strings.Repeat("heading ", 40)
		return []byte(
			"# " + long + "\n\n## " + long + "\n\n### " + long + "\n\n" + strings.Repeat("#### a\n\nb\n\n", n),
		)
	},
	"hyphens.txt": func(n int) []byte { return []byte(strings.Repeat("word-\n", n)) },
	"letters.txt": func(n int) []byte { return []byte(strings.Repeat("a", n)) },
	"header.csv":  func(n int) []byte { return []byte(strings.Repeat("name,", n) + "\n" + strings.Repeat("1,2\n", n)) },
	"title.docx": func(n int) []byte {
		return deflated(map[string]string{
			"_rels/.rels":       `<Relationships><Relationship Id="1" Type="x/officeDocument" Target="word/document.xml"/></Relationships>`,
			"word/document.xml": `<w:document xmlns:w="w"><w:p><w:r><w:t>a</w:t></w:r></w:p></w:document>`,
			"docProps/core.xml": "<x><title>" + strings.Repeat("a<!-- -->", n) + "</title></x>",
		})
	},
	"notes.docx": func(n int) []byte {
		return deflated(map[string]string{
			"_rels/.rels":                  `<Relationships><Relationship Id="1" Type="x/officeDocument" Target="word/document.xml"/></Relationships>`,
			"word/_rels/document.xml.rels": `<Relationships><Relationship Id="f" Type="x/footnotes" Target="f.xml"/></Relationships>`,
			"word/f.xml": `<w:f xmlns:w="w"><w:footnote w:id="1"><w:p><w:t>` + strings.Repeat(
				"note ",
				n,
			) + `</w:t></w:p></w:footnote></w:f>`,
			"word/document.xml": `<w:document xmlns:w="w">` +
				strings.Repeat(
					`<w:p><w:r><w:t>a</w:t><w:footnoteReference w:id="1"/></w:r></w:p>`,
					n,
				) + `</w:document>`,
		})
	},
	"nested.eml": func(n int) []byte {
		var b strings.Builder
		b.WriteString(
			"From: a\nSubject: b\nContent-Type: multipart/mixed; boundary=b0\n\n--b0\nContent-Type: text/plain\n\nthe end\n",
		)
		for i := range min(n/4, 900) {
			fmt.Fprintf(&b, "--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", i, i+1)
		}
		return []byte(b.String() + "--b0\n\nhello")
	},
}

// TestLinear: four times as much of something takes four times as many bytes of memory, or less.
func TestLinear(t *testing.T) {
	const n = 4000
	for name, file := range growing {
		readHere(t, name, file(10)) // what is made once
		_, once, err := readHere(t, name, file(n))
		_, often, failed := readHere(t, name, file(4*n))
		if often > 6*once+1<<20 {
			t.Errorf("%s: %d bytes (%v) for %d, %d (%v) for four times as much", name, once, err, n, often, failed)
		}
	}
}

// BenchmarkCost reads the files of TestLinear: bytes a second and bytes of memory for each byte.
func BenchmarkCost(b *testing.B) {
	for name, file := range growing {
		b.Run(name, func(b *testing.B) {
			data := file(20_000)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			allocated := 0
			for b.Loop() {
				_, n, _ := readHere(b, name, data)
				allocated += n
			}
			b.ReportMetric(float64(allocated)/float64(b.N)/float64(len(data)), "B/byte")
		})
	}
}

// TestRepeatedCells: cells and rows that are repeated in tables inside each other are counted over all of them.
func TestRepeatedCells(t *testing.T) {
	file := func(depth int) []byte {
		content := "<text:p>x</text:p>"
		for range depth {
			content = fmt.Sprintf(cell, content)
		}
		return deflated(
			map[string]string{
				"mimetype":    ODT,
				"content.xml": `<a xmlns:table="t" xmlns:text="u">` + content + `</a>`,
			},
		)
	}
	d, _, err := readHere(t, "a.odt", file(1))
	if err != nil || strings.Count(d.Text, "x") != 100*100 {
		t.Errorf("100 cells in each of 100 rows: %v", err)
	}
	for depth := 2; depth < 5; depth++ {
		if _, took, err := readHere(t, "a.odt", file(depth)); ReasonOf(err) != TooLarge || took > 256<<20 {
			t.Errorf("%d tables in each other: %d bytes, %v", depth, took, err)
		}
	}
}

// TestBoundsAreSaid: what a bound leaves out, or leaves as text, is among the warnings, and the rest is read.
func TestBoundsAreSaid(t *testing.T) {
	core := func(title string) []byte {
		return deflated(map[string]string{
			"_rels/.rels":       `<Relationships><Relationship Id="1" Type="x/officeDocument" Target="word/document.xml"/></Relationships>`,
			"word/document.xml": `<w:document xmlns:w="w"><w:p><w:r><w:t>the end</w:t></w:r></w:p></w:document>`,
			"docProps/core.xml": "<x><title>" + title + "</title></x>",
		})
	}
	for name, c := range map[string]struct {
		data    []byte
		warning string
	}{
		"marks.md":   {[]byte(strings.Repeat("*a* ", 2000) + "\n\nthe end"), "marks of links"},
		"nested.md":  {[]byte(strings.Repeat("> ", 100) + "a\n\nthe end"), "nested more than 32 deep"},
		"table.md":   {append(growing["columns.md"](500), "\n\nthe end"...), "1 tables"},
		"heading.md": {[]byte("# " + strings.Repeat("ab ", 200) + "\n\nthe end"), "a heading has 599 bytes"},
		"title.docx": {core(strings.Repeat("é", 300)), "its title has 600 bytes"},
		"mail.eml":   {growing["nested.eml"](400), "more than 32 parts"},
	} {
		d, _, err := readHere(t, name, c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(strings.Join(d.Warnings, "\n"), c.warning) || !strings.Contains(d.Text, "the end") {
			t.Errorf("%s: the warnings are %q", name, d.Warnings)
		}
		if p := PassagesOf(About{ID: "a"}, d, c.data, 100); len(p[0].Title) > 1200 {
			t.Errorf("%s: a passage has a title of %d bytes", name, len(p[0].Title))
		}
	}
	if d, _, err := readHere(t, "a.docx", core(strings.Repeat("é", 300))); err != nil ||
		len(d.Title) > longestTitle ||
		!strings.HasPrefix(d.Title, "éé") ||
		!strings.HasSuffix(d.Title, "é…") {
		t.Errorf("a title of 600 bytes is %q, %v", d.Title, err)
	}
}
