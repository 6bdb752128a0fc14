package documents

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

// pdfPage is a page as PDFium reads it. Coordinates are in points from the lower left corner of the visible part.
type pdfPage struct {
	Width  float64
	Height float64
	Lines  []pdfLine
	// place converts coordinates of PDFium to those of this page, which may be cropped or rotated.
	place func(x, y float64) (float64, float64)
	// tables are the tables of the page by the index in Lines at which they are read; set by placeTables.
	tables map[int][]pdfTable
	Rules  []pdfRule // straight lines drawn on the page; nil if no row has two cells
}

// pdfLine is a line of text and the box around it.
type pdfLine struct {
	Text   string
	Left   float64
	Right  float64
	Bottom float64
	Top    float64
	Size   float64 // height of its letters in points; 0: the place of the line is unknown
	Bold   bool
	// Words are its words with their places; nil if PDFium does not know the place of one.
	Words []pdfWord
	tail  pdfTail // the raised or lowered letters that the line ends with
}

// pdfTail is the end of a line that has raised or lowered letters: the last word before them, and the letters. at is
// onLine if there are none.
type pdfTail struct {
	before, letters string
	at              vertical
}

// pdfWord is a word of a line with its left and right edge.
type pdfWord struct {
	Text  string
	Left  float64
	Right float64
}

// readPDFPage reads a page by its index from 0: its visible lines, the values of its form fields beside their
// labels, and, if some row has several cells, the rules that may belong to tables. With an error it returns what
// was read before.
func readPDFPage(p pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) (page pdfPage, err error) {
	loaded, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return page, err
	}
	defer func() { _, _ = p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) }()
	by := requests.Page{ByReference: &loaded.Page}
	page.Width, page.Height, page.place = pageFrame(p, document, index, by)
	page.Lines, err = readLines(p, by, &page, math.MaxInt)
	if flat, noted := withFields(p, document, index, loaded.Page); noted == nil && flat != loaded.Page {
		loaded.Page = flat
		if all, failed := readLines(p, by, &page, len(page.Lines)); failed == nil {
			page.Lines = besideFields(all, len(page.Lines))
		}
	}
	page.Lines = joinSplit(page.Lines)
	if slices.ContainsFunc(rowsOfCells(cellsOf(page.Lines, nil)), func(r visualRow) bool { return len(r.cells) > 1 }) {
		page.Rules = readRules(p, loaded.Page, page)
	}
	return page, err
}

// pageFrame returns the size of the visible part of a page, and a function that converts PDFium's coordinates to
// upright ones from that part's lower left corner. If PDFium does not tell the size, the size is 0, 0 and the function
// returns its arguments.
func pageFrame(p pdfium.Pdfium, document references.FPDF_DOCUMENT, index int, by requests.Page) (
	width, height float64, place func(x, y float64) (float64, float64),
) {
	place = func(x, y float64) (float64, float64) { return x, y }
	size, err := p.FPDF_GetPageSizeByIndex(&requests.FPDF_GetPageSizeByIndex{Document: document, Index: index})
	if err != nil {
		return 0, 0, place
	}
	width, height = size.Width, size.Height
	box, err := p.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: by})
	if err != nil {
		return width, height, place
	}
	left, right := float64(box.Rect.Left), float64(box.Rect.Right)
	bottom, top := float64(box.Rect.Bottom), float64(box.Rect.Top)
	turned, err := p.FPDFPage_GetRotation(&requests.FPDFPage_GetRotation{Page: by})
	if err != nil {
		turned = &responses.FPDFPage_GetRotation{}
	}
	switch turned.PageRotation {
	case enums.FPDF_PAGE_ROTATION_90_CW:
		place = func(x, y float64) (float64, float64) { return y - bottom, right - x }
	case enums.FPDF_PAGE_ROTATION_180_CW:
		place = func(x, y float64) (float64, float64) { return right - x, top - y }
	case enums.FPDF_PAGE_ROTATION_270_CW:
		place = func(x, y float64) (float64, float64) { return top - y, x - left }
	default:
		place = func(x, y float64) (float64, float64) { return x - left, y - bottom }
	}
	return width, height, place
}

// readLines returns the lines of text in the visible part of a page that are not blank, with their places; page has
// its size and place. PDFium joins the values of form fields, which follow the first `whole` lines, into one line;
// that is split where the letters change their height on the page. No text is no error.
func readLines(
	p pdfium.Pdfium,
	by requests.Page,
	page *pdfPage,
	whole int,
) (lines []pdfLine, err error) {
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: by})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) }()
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || count.Count <= 0 {
		return nil, err
	}
	all, err := p.FPDFText_GetText(
		&requests.FPDFText_GetText{TextPage: text.TextPage, StartIndex: 0, Count: count.Count},
	)
	if err != nil {
		return nil, err
	}
	boxes := lineBoxes{p: p, page: text.TextPage, place: page.place, visible: pdfBox{Right: page.Width, Top: page.Height}}
	units := utf16.Encode([]rune(all.Text))
	boxes.known = len(units) == count.Count || len([]rune(all.Text)) == count.Count
	if !boxes.known { // PDFium leaves out letters that have no code in Unicode
		all.Text, boxes.known = readLetters(p, text.TextPage, count.Count)
	}
	at := 0
	for line := range strings.SplitAfterSeq(all.Text, "\n") {
		n := len(utf16.Encode([]rune(line)))
		begin := at
		for _, piece := range boxes.pieces(line, at, len(lines)+1 >= whole) {
			trimmed := strings.ReplaceAll(strings.TrimRight(piece, "\r\n"), "\uf0b7", "•")
			if strings.TrimSpace(strings.Trim(trimmed, "\u0002\ufffe")) != "" {
				l := pdfLine{Text: trimmed}
				boxes.measure(&l, begin, trimmed)
				dropUncoded(&l)
				if strings.TrimSpace(l.Text) != "" {
					lines = append(lines, l)
				}
			}
			begin += len(utf16.Encode([]rune(piece)))
		}
		at += n
	}
	return lines, nil
}

// readLetters returns the text of a page with noLetter for each letter that has no code in Unicode. indexed reports
// whether an index into the text, in UTF-16, is that of PDFium's letter.
func readLetters(p pdfium.Pdfium, page references.FPDF_TEXTPAGE, count int) (text string, indexed bool) {
	var b strings.Builder
	indexed = true
	for i := range count {
		got, err := p.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: page, Index: i})
		letter := noLetter
		if err == nil && got.Unicode > 0 && got.Unicode <= unicode.MaxRune {
			letter = rune(got.Unicode)
		}
		indexed = indexed && utf16.RuneLen(letter) == 1
		b.WriteRune(letter)
	}
	return b.String(), indexed
}

// noLetter stands for a letter without a code in Unicode while the place of a line is read.
const noLetter = '\uffff'

// dropUncoded removes each noLetter from a line and its words, and the words that have nothing else.
func dropUncoded(l *pdfLine) {
	uncoded := string(noLetter)
	if !strings.Contains(l.Text, uncoded) {
		return
	}
	l.Text = strings.Join(strings.Fields(strings.ReplaceAll(l.Text, uncoded, "")), " ")
	for i := range l.Words {
		l.Words[i].Text = strings.ReplaceAll(l.Words[i].Text, uncoded, "")
	}
	l.Words = slices.DeleteFunc(l.Words, func(w pdfWord) bool { return w.Text == "" })
}

// withFields draws the form fields and annotations of a page into its content, so that their text can be read, and
// returns the page loaded again; the page that was passed is closed then. Without annotations, or if that fails, it
// returns the page that was passed; the error is nil if there are none or they cannot be drawn.
func withFields(
	p pdfium.Pdfium,
	document references.FPDF_DOCUMENT,
	index int,
	page references.FPDF_PAGE,
) (references.FPDF_PAGE, error) {
	by := requests.Page{ByReference: &page}
	notes, err := p.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: by})
	if err != nil || notes.Count == 0 {
		return page, err
	}
	done, err := p.FPDFPage_Flatten(&requests.FPDFPage_Flatten{
		Page: by, Usage: requests.FPDFPage_FlattenUsageNormalDisplay,
	})
	if err != nil || done.Result != responses.FPDFPage_FlattenResultSuccess {
		return page, err
	}
	again, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return page, err
	}
	_, _ = p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page})
	return again.Page, nil
}
