package documents

import (
	"math"
	"strings"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

// pdfPage is a page as PDFium reads it, in points; y grows upwards.
type pdfPage struct {
	Width  float64
	Height float64
	Lines  []pdfLine
}

// pdfLine is a line of text and the box around it.
type pdfLine struct {
	Text   string
	Left   float64
	Right  float64
	Bottom float64
	Top    float64
	Size   float64 // of its letters, as drawn
	Bold   bool
	// Cells are what wide white space parts it into; nil where there is none.
	Cells []pdfCell
}

// readPDFPage reads a page of a document by its index, with what its form fields hold.
func readPDFPage(p pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) (page pdfPage, err error) {
	loaded, err := p.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return page, err
	}
	defer func() { _, _ = p.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page}) }()
	by := requests.Page{ByReference: &loaded.Page}
	if size, err := p.FPDF_GetPageSizeByIndex(&requests.FPDF_GetPageSizeByIndex{Document: document,
		Index: index}); err == nil {
		page.Width, page.Height = size.Width, size.Height
	}
	page.Lines, err = readLines(p, by, math.MaxInt)
	if flat, noted := withFields(p, document, index, loaded.Page); noted == nil && flat != loaded.Page {
		loaded.Page = flat
		if all, failed := readLines(p, by, len(page.Lines)); failed == nil {
			page.Lines = besideFields(all, len(page.Lines))
		}
	}
	return page, err
}

// readLines reads the lines of a page. What form fields hold, behind so many lines of text, PDFium
// takes for one line, which is parted where letters are drawn at another height.
func readLines(p pdfium.Pdfium, by requests.Page, whole int) (lines []pdfLine, err error) {
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: by})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) }()
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || count.Count <= 0 {
		return nil, err
	}
	all, err := p.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, StartIndex: 0, Count: count.Count})
	if err != nil {
		return nil, err
	}
	boxes := lineBoxes{p: p, page: text.TextPage}
	units := utf16.Encode([]rune(all.Text))
	boxes.known = len(units) == count.Count || len([]rune(all.Text)) == count.Count
	at := 0
	for line := range strings.SplitAfterSeq(all.Text, "\n") {
		n := len(utf16.Encode([]rune(line)))
		begin := at
		for _, piece := range boxes.pieces(line, at, len(lines)+1 >= whole) {
			trimmed := strings.ReplaceAll(strings.TrimRight(piece, "\r\n"), "\uf0b7", "•")
			if strings.TrimSpace(strings.Trim(trimmed, "\u0002\ufffe")) != "" {
				l := pdfLine{Text: trimmed}
				boxes.measure(&l, begin, trimmed)
				lines = append(lines, l)
			}
			begin += len(utf16.Encode([]rune(piece)))
		}
		at += n
	}
	return lines, nil
}

// withFields returns the page with what its form fields hold, and other notes that are drawn on it,
// as part of its text, where it has some; page is closed then.
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
