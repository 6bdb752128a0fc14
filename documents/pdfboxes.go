package documents

import (
	"math"
	"strings"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// pdfBox is a rectangle on a page, in points from the lower left corner of the visible part.
type pdfBox struct {
	Left, Bottom, Right, Top float64
}

// height returns the height of the box in points.
func (b pdfBox) height() float64 { return b.Top - b.Bottom }

// lineBoxes asks PDFium where the lines of a page and their words are. Each question is a call into WebAssembly, so it
// asks for few letters: the first and last of a line and of each word. A line that the file draws in one piece is asked
// for, too: many programs draw a row of a table so, and move the pen between its cells.
type lineBoxes struct {
	p     pdfium.Pdfium
	page  references.FPDF_TEXTPAGE
	known bool // indexes into the text are those of letters on the page
	place func(x, y float64) (float64, float64)
	// visible is the part of the page that is seen; an empty box if its size is unknown.
	visible pdfBox
}

// shows reports whether the middle of a line or word, by the boxes of its first and last letter, is in the visible part
// of the page. It is true if that part is not known.
func (b *lineBoxes) shows(first, last pdfBox) bool {
	if b.visible.Right <= 0 || b.visible.Top <= 0 {
		return true
	}
	x := (min(first.Left, last.Left) + max(first.Right, last.Right)) / 2
	y := (min(first.Bottom, last.Bottom) + max(first.Top, last.Top)) / 2
	return x >= 0 && x <= b.visible.Right && y >= 0 && y <= b.visible.Top
}

// at returns the box of a letter, in the page's points, by its index in the text of the page; ok is false if PDFium
// knows none.
func (b *lineBoxes) at(index int) (box pdfBox, ok bool) {
	got, err := b.p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: b.page, Index: index})
	if err != nil {
		return pdfBox{}, false
	}
	x0, y0 := b.place(float64(got.Rect.Left), float64(got.Rect.Bottom))
	x1, y1 := b.place(float64(got.Rect.Right), float64(got.Rect.Top))
	return pdfBox{min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)}, true
}

// pieces splits a line at the spaces where its letters change their height on the page by more than half of it. at
// is the index of its first letter. The line stays whole if parted is false or places are unknown.
func (b *lineBoxes) pieces(line string, at int, parted bool) (all []string) {
	if !parted || !b.known {
		return []string{line}
	}
	begin, units := 0, 0
	for i, r := range line {
		from := at + units
		units += utf16.RuneLen(r)
		if r != ' ' || i == begin || i+1 == len(line) {
			continue
		}
		left, known := b.at(from - 1)
		right, also := b.at(from + 1)
		if known && also && math.Abs(left.Bottom-right.Bottom) > max(left.height(), right.height())/2 {
			all = append(all, line[begin:i+1])
			begin = i + 1
		}
	}
	return append(all, line[begin:])
}

// measure sets the edges, Size, Bold and Words of a line. Words outside of the visible part of the page are removed
// from its text; "" is left if all are. at is the index of the first letter of text. If PDFium does not know the place,
// Size stays 0.
func (b *lineBoxes) measure(l *pdfLine, at int, text string) {
	if !b.known {
		return
	}
	units := utf16.Encode([]rune(text))
	first := 0
	last := len(units)
	for first < last && blankUnit(units[first]) {
		first++
	}
	for last > first && (blankUnit(units[last-1]) || units[last-1] == 2 || units[last-1] == 0xfffe) {
		last--
	}
	from, known := b.at(at + first)
	if !known || first == last {
		return
	}
	to, known := b.at(at + last - 1)
	if !known {
		to = from
	}
	l.Left = from.Left
	l.Right = to.Right
	l.Size = from.height()
	// Where a word is hyphenated, PDFium joins two lines to one.
	l.Bottom, l.Top = min(from.Bottom, to.Bottom), from.Top
	b.weigh(l, at+first)
	// In a line that is turned, such as the label of an axis, letters do not stand beside each other.
	turned := math.Abs(to.Left-from.Left) < l.Size && math.Abs(to.Bottom-from.Bottom) > 2*l.Size
	if !turned || !b.shows(from, from) || !b.shows(to, to) {
		b.words(l, at, units)
	}
}

// blankUnit reports whether a UTF-16 code unit is a space, a tab or a no-break space.
func blankUnit(u uint16) bool { return u == ' ' || u == '\t' || u == 0xa0 }

// weigh sets l.Bold by the weight (600 or more) or the name of the font of the letter at an index; false if PDFium
// knows neither.
func (b *lineBoxes) weigh(l *pdfLine, index int) {
	weight, err := b.p.FPDFText_GetFontWeight(&requests.FPDFText_GetFontWeight{TextPage: b.page, Index: index})
	l.Bold = err == nil && weight.FontWeight >= 600
	if font, err := b.p.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: b.page, Index: index}); err == nil {
		name := strings.ToLower(font.FontName)
		l.Bold = l.Bold || strings.Contains(name, "bold") || strings.Contains(name, "black") ||
			strings.Contains(name, "heavy")
	}
}

// joinWords returns the texts of the words, separated by spaces.
func joinWords(words []pdfWord) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = w.Text
	}
	return strings.Join(all, " ")
}

// isDigit reports whether a character is one of 0 to 9.
func isDigit(r rune) bool { return r >= '0' && r <= '9' }
