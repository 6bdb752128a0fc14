package documents

import (
	"math"
	"strings"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// lineBoxes asks PDFium where lines are. Only the first and the last letter of a line are
// asked for: each question takes a call into WebAssembly.
type lineBoxes struct {
	p     pdfium.Pdfium
	page  references.FPDF_TEXTPAGE
	known bool // positions in the text are those of letters on the page
}

// pieces returns a line, or what of it is drawn at several heights.
func (b *lineBoxes) pieces(line string, at int, parted bool) (all []string) {
	if !parted || !b.known {
		return []string{line}
	}
	begin := 0
	for i, r := range line {
		if r != ' ' || i == begin || i+1 == len(line) {
			continue
		}
		from := at + len(utf16.Encode([]rune(line[:i])))
		left, err := b.p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: b.page, Index: from - 1})
		right, failed := b.p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: b.page, Index: from + 1})
		if err != nil || failed != nil {
			continue
		}
		height := float64(max(left.Rect.Top-left.Rect.Bottom, right.Rect.Top-right.Rect.Bottom))
		if math.Abs(float64(left.Rect.Bottom-right.Rect.Bottom)) > height/2 {
			all = append(all, line[begin:i+1])
			begin = i + 1
		}
	}
	return append(all, line[begin:])
}

func (b *lineBoxes) measure(l *pdfLine, at int, text string) {
	if !b.known {
		return
	}
	first := len(utf16.Encode([]rune(text[:len(text)-len(strings.TrimLeft(text, " \t\u00a0"))])))
	last := len(utf16.Encode([]rune(strings.TrimRight(text, " \t\u00a0\u0002\ufffe")))) - 1
	from, err := b.p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: b.page, Index: at + first})
	if err != nil {
		return
	}
	to, err := b.p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: b.page, Index: at + last})
	if err != nil {
		to.Rect = from.Rect
	}
	l.Left, l.Right = float64(from.Rect.Left), float64(to.Rect.Right)
	l.Size = math.Abs(float64(from.Rect.Top - from.Rect.Bottom))
	// Where a word is hyphenated, PDFium joins two lines to one.
	l.Bottom, l.Top = float64(min(from.Rect.Bottom, to.Rect.Bottom)), float64(from.Rect.Top)
	if weight, err := b.p.FPDFText_GetFontWeight(&requests.FPDFText_GetFontWeight{TextPage: b.page,
		Index: at + first}); err == nil {
		l.Bold = weight.FontWeight >= 600
	}
	l.Cells = b.cells(at, text, l.Size)
	if font, err := b.p.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: b.page,
		Index: at + first}); err == nil {
		name := strings.ToLower(font.FontName)
		l.Bold = l.Bold || strings.Contains(name, "bold") || strings.Contains(name, "black") ||
			strings.Contains(name, "heavy")
	}
}

// wideSpace is how wide white space is, as a share of the height of letters, that is more than that
// between words.
const wideSpace = 1.0

// cells returns what wide white space parts a line into; nil where there is none. PDFium is asked
// for each space only where the line was drawn in several pieces.
func (b *lineBoxes) cells(at int, text string, size float64) (cells []pdfCell) {
	units := utf16.Encode([]rune(text))
	pieces, err := b.p.FPDFText_CountRects(&requests.FPDFText_CountRects{
		TextPage: b.page, StartIndex: at, Count: len(units),
	})
	if err != nil || pieces.Count < 2 {
		return nil
	}
	box := func(i int) (left, right float64, ok bool) {
		r, err := b.p.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: b.page, Index: at + i})
		if err != nil {
			return 0, 0, false
		}
		return float64(r.Rect.Left), float64(r.Rect.Right), true
	}
	space := func(i int) bool { return units[i] == ' ' || units[i] == '\t' || units[i] == 0xa0 }
	begin := 0
	end := func(to int) bool {
		left, _, known := box(begin)
		_, right, also := box(to - 1)
		cells = append(cells, pdfCell{string(utf16.Decode(units[begin:to])), left, right})
		return known && also
	}
	for i := 0; i < len(units); i++ {
		if !space(i) {
			continue
		}
		from := i
		for i < len(units) && space(i) {
			i++
		}
		if from == begin || i == len(units) {
			if from == begin {
				begin = i
			}
			continue
		}
		_, right, known := box(from - 1)
		left, _, also := box(i)
		if !known || !also {
			return nil
		}
		if left-right < wideSpace*size {
			continue
		}
		if !end(from) {
			return nil
		}
		begin = i
	}
	if cells == nil || begin >= len(units) {
		return nil
	}
	last := len(units)
	for last > begin && (space(last - 1)) {
		last--
	}
	if !end(last) {
		return nil
	}
	return cells
}
