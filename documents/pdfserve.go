package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// pdfMemoryPages bounds the memory of PDFium, in pages of 64 KiB: 512 MiB.
const pdfMemoryPages = 512 << 20 >> 16

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

// pdfAnswer is what PDFium finds in a file.
type pdfAnswer struct {
	Reason Reason // why the file is not read; "": it is
	Detail string
	Title  string
	Pages  []pdfPage
	Unread []int // pages, from 1, that PDFium cannot read
}

// CompilePDFium leaves the compiled form of PDFium in a folder, from which Serve takes it.
func CompilePDFium(ctx context.Context, cache string) error {
	pool, err := openPDFium(ctx, cache)
	if err != nil {
		return err
	}
	return pool.Close()
}

// openPDFium starts PDFium, which runs as WebAssembly, without files. cache is a folder for its compiled
// form; "" or one that cannot be written, as in a read-only container, costs seconds.
func openPDFium(ctx context.Context, cache string) (pdfium.Pool, error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfMemoryPages).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	if cache != "" {
		if compiled, err := wazero.NewCompilationCacheWithDir(cache); err == nil {
			config = config.WithCompilationCache(compiled)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MinIdle: 1, MaxIdle: 1, MaxTotal: 1,
		FSConfig: wazero.NewFSConfig(), RuntimeConfig: config, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	return pool, nil
}

// readPDF reads one file in an instance of its own, so that no file sees another's memory.
func readPDF(pool pdfium.Pool, data []byte, textBytes int) (*pdfAnswer, error) {
	p, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	opened, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	switch {
	case errors.Is(err, pdferrors.ErrPassword), errors.Is(err, pdferrors.ErrSecurity):
		return &pdfAnswer{Reason: Encrypted, Detail: "it is encrypted: save it without a password"}, nil
	case err != nil:
		return &pdfAnswer{Reason: Damaged, Detail: "PDFium cannot open it: " + err.Error()}, nil
	}
	answer := &pdfAnswer{}
	if meta, err := p.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: opened.Document, Tag: "Title"}); err == nil {
		answer.Title = meta.Value
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return &pdfAnswer{Reason: Damaged, Detail: "its pages cannot be counted"}, nil
	}
	letters := 0
	for i := range count.PageCount {
		page, err := readPDFPage(p, opened.Document, i)
		if err != nil { // others may be read
			answer.Unread = append(answer.Unread, i+1)
		}
		answer.Pages = append(answer.Pages, page)
		for _, line := range page.Lines {
			letters += len(line.Text)
		}
		if letters > textBytes {
			return &pdfAnswer{
				Reason: TooLarge,
				Detail: fmt.Sprintf("it has more text than is read of one file (%d bytes)", textBytes),
			}, nil
		}
	}
	if letters == 0 {
		detail := "it holds no text: its pages may be pictures, which need a program that recognises letters (OCR) first"
		if len(answer.Unread) > 0 {
			return &pdfAnswer{Reason: Damaged, Detail: "none of its pages can be read"}, nil
		}
		return &pdfAnswer{Reason: NoText, Detail: detail}, nil
	}
	return answer, nil
}

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
