package documents

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// pdfPageOf is a page of pagesPDF: its content, and other entries of its dictionary.
type pdfPageOf struct{ content, entries string }

// pagesPDF returns a PDF of pages of 600 by 800 points, which draw text with the fonts F (Helvetica) and B (bold).
func pagesPDF(pages ...pdfPageOf) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" +
		"3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj\n" +
		"4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>endobj\n")
	var kids []string
	for i, p := range pages {
		n := 5 + 2*i
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		fmt.Fprintf(&b, "%d 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R"+
			"/Resources<</Font<</F 3 0 R/B 4 0 R>>>>%s>>endobj\n%d 0 obj<</Length %d>>stream\n%s\nendstream endobj\n",
			n, n+1, p.entries, n+1, len(p.content), p.content)
	}
	fmt.Fprintf(&b, "2 0 obj<</Type/Pages/Kids[%s]/Count %d>>endobj\ntrailer<</Root 1 0 R>>\n%%%%EOF",
		strings.Join(kids, " "), len(pages))
	return b.Bytes()
}

// shown returns the operators that draw runs of text in a row from a place. Each run is a text, its size and how far it
// is raised.
func shown(x, y int, runs ...any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "BT %d %d Td ", x, y)
	for i := 0; i < len(runs); i += 3 {
		fmt.Fprintf(&b, "/F %v Tf %v Ts (%s) Tj ", runs[i+1], runs[i+2], runs[i])
	}
	return b.String() + "ET\n"
}

// TestPDFRaised: raised letters of a PDF are exponents, marks of footnotes or endings of numbers, by what they follow.
func TestPDFRaised(t *testing.T) {
	data := pagesPDF(pdfPageOf{content: shown(50, 700, "The limit is 10", 12, 0, "3", 8, 5,
		" cells, and x", 12, 0, "n", 8, 5, " grows; e", 12, 0, "x+1", 8, 5, " too.", 12, 0) +
		shown(50, 680, "Of 12 km", 12, 0, "2", 8, 5, ", the council", 12, 0, "1", 8, 5, " agreed in 2019.", 12, 0, "2", 8, 5,
			" On the 20", 12, 0, "th", 8, 5, " of May.", 12, 0) +
		shown(50, 660, "Some H", 12, 0, "2", 8, -3, "O and cm", 12, 0, "3", 8, 5,
			"; take 1", 12, 0, "1", 8, 5, "/", 12, 0, "2", 8, -3,
			" tablets of Acme", 12, 0, "\\256", 8, 5, " soap.", 12, 0)})
	d, _, err := newTestReader(t).Read(t.Context(), Input{Name: "a.pdf", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	want := "The limit is 10^3 cells, and x^n grows; e^(x+1) too.\n\nOf 12 km^2, the council[1] agreed in 2019.[2] " +
		"On the 20th of May. Some H2O and cm^3; take 1 1/2 tablets of Acme® soap."
	if d.Text != want {
		t.Errorf("got\n%s\nwant\n%s", d.Text, want)
	}
}

// TestPDFPowers: a raised 2 or 3 behind a word is a power where the document counts no footnotes, and a mark where it
// has a raised 1, another mark, or a footnote, on any page.
func TestPDFPowers(t *testing.T) {
	marked := func(y int, before, raised, after string) string {
		return shown(50, y, before, 12, 0, raised, 8, 5, after, 12, 0)
	}
	r := newTestReader(t)
	text := shown(50, 700, "Of 40 square metres", 12, 0, "2", 8, 5, " and cosh", 12, 0, "2", 8, 5,
		" of x the volume is 9 metres", 12, 0, "3", 8, 5, ".", 12, 0)
	const power = "Of 40 square metres^2 and cosh^2 of x the volume is 9 metres^3."
	const mark = "Of 40 square metres[2] and cosh[2] of x the volume is 9 metres[3]."
	for name, c := range map[string]struct{ before, after, want string }{
		"alone":                  {want: power},
		"a numbered heading":     {before: shown(50, 740, "2 Methods of measuring", 14, 0), want: power},
		"a short unit":           {after: marked(600, "Its side is 3 cm", "2", " long."), want: power},
		"a first mark":           {before: marked(740, "The council", "1", " agreed."), want: mark},
		"behind a short word":    {before: marked(740, "He has the", "1", " vote."), want: mark},
		"behind a full stop":     {before: marked(740, "The council agreed.", "1", " So did we."), want: mark},
		"a 2 behind a full stop": {after: marked(600, "The council agreed.", "2", " So did we."), want: mark},
		"several marks":          {after: marked(600, "The council", "3,4", " agreed."), want: mark},
		"a larger mark":          {after: marked(600, "The council", "5", " agreed."), want: mark},
		"a footnote with 1":      {after: shown(50, 60, "1", 6, 3, " See the minutes.", 9, 0), want: mark},
		"a footnote with 2":      {after: shown(50, 60, "2 See the minutes.", 9, 0), want: mark},
	} {
		for _, pages := range [][]pdfPageOf{
			{{content: c.before + text + c.after}}, {{content: c.before + " "}, {content: text}, {content: c.after + " "}},
		} {
			d, _, err := r.Read(t.Context(), Input{Name: "a.pdf", Data: pagesPDF(pages...)})
			if err != nil || !strings.Contains(d.Text, c.want) {
				t.Errorf("%s on %d pages: %v, got\n%s\nwant\n%s", name, len(pages), err, d.Text, c.want)
			}
		}
	}
}

// TestPDFPowersBesideNotes: in a PDF with footnotes at the feet of its pages, a raised 2 or 3 behind a word is a power
// unless its page has that footnote and no other mark of it.
func TestPDFPowersBesideNotes(t *testing.T) {
	r := newTestReader(t)
	line := func(y int, before, raised, after string) string {
		return shown(50, y, before, 12, 0, raised, 8, 5, after, 12, 0)
	}
	note := func(y int, text string) string { return shown(50, y, text, 9, 0) }
	formula := line(700, "The formula has cosh", "2", " of x in it.")
	first := line(680, "The council", "1", " agreed to it.")
	for name, c := range map[string]struct {
		pages []string
		want  string
	}{
		"no such footnote": {[]string{formula + first + note(60, "1 See the minutes.")}, "cosh^2 of x"},
		"on another page": {[]string{first + note(60, "1 See the minutes.") + line(650, "He left.", "2", " So did we.") +
			note(45, "2 On Monday."), formula}, "cosh^2 of x"},
		"marked elsewhere on the page": {[]string{formula + first + note(60, "1 See the minutes.") +
			line(650, "He left.", "2", " So did we.") + note(45, "2 On Monday.")}, "cosh^2 of x"},
		"its footnote": {[]string{first + formula + note(60, "1 See the minutes.") + note(45, "2 A function.")}, "cosh[2] of x"},
		"notes at the end": {[]string{first + formula, note(700, "1 See the minutes.") + note(680, "2 A function.")},
			"cosh[2] of x"},
	} {
		var pages []pdfPageOf
		for _, page := range c.pages {
			pages = append(pages, pdfPageOf{content: page})
		}
		d, _, err := r.Read(t.Context(), Input{Name: "a.pdf", Data: pagesPDF(pages...)})
		if err != nil || !strings.Contains(d.Text, c.want) {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", name, err, d.Text, c.want)
		}
	}
}

// TestPDFCropBox: of a sheet that several pages show in parts, each page has its own part, whichever way it is turned.
func TestPDFCropBox(t *testing.T) {
	sheet := shown(40, 700, "Left words here.", 12, 0) + shown(340, 700, "Right words there.", 12, 0) +
		shown(40, 30, "Printed on Monday.", 12, 0)
	data := pagesPDF(
		pdfPageOf{sheet, "/CropBox[0 100 300 800]"}, pdfPageOf{sheet, "/CropBox[300 100 600 800]/Rotate 90"},
		pdfPageOf{sheet, "/CropBox[0 0 600 100]/Rotate 180"}, pdfPageOf{sheet, "/CropBox[-50 -50 900 900]"},
	)
	d, _, err := newTestReader(t).Read(t.Context(), Input{Name: "a.pdf", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for _, b := range d.Blocks {
		got[b.Page] += d.TextOf(b) + "|"
	}
	for page, want := range map[int]string{
		1: "Left words here.|", 2: "Right words there.|", 3: "Printed on Monday.|",
		4: "Left words here.|Right words there.|Printed on Monday.|",
	} {
		if text := strings.ReplaceAll(got[page], "here. Right", "here.|Right"); text != want {
			t.Errorf("page %d has %q, want %q", page, text, want)
		}
	}
}
