package documents

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
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
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// pdfMemoryPages bounds the memory of PDFium, in pages of 64 KiB: 512 MiB.
const pdfMemoryPages = 512 << 20 >> 16

// pdfPage is a page as PDFium reads it, in points; y grows upwards.
type pdfPage struct {
	Width  float64   `json:"w"`
	Height float64   `json:"h"`
	Lines  []pdfLine `json:"lines,omitempty"`
}

// pdfLine is a line of text and the box around it.
type pdfLine struct {
	Text   string  `json:"t"`
	Left   float64 `json:"l"`
	Right  float64 `json:"r"`
	Bottom float64 `json:"b"`
	Top    float64 `json:"u"`
	Size   float64 `json:"s"` // of its letters, as drawn
	Bold   bool    `json:"bold,omitempty"`
}

// ServePDF reads PDFs from in and writes what it finds in them to out, each behind its
// length, until in ends. It is for a process of its own: PDFium may loop for ever, and is
// stopped by ending the process. It runs as WebAssembly, without files; cache is a folder for
// its compiled form, without which it takes seconds to start. An in that ends at once leaves
// the compiled form there.
func ServePDF(ctx context.Context, in io.Reader, out io.Writer, cache string, textBytes int) error {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfMemoryPages).
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling)
	// A folder that cannot be written, as in a read-only container, costs time alone.
	if compiled, err := wazero.NewCompilationCacheWithDir(cache); err == nil && cache != "" {
		defer func() { _ = compiled.Close(ctx) }()
		config = config.WithCompilationCache(compiled)
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MinIdle: 1, MaxIdle: 1, MaxTotal: 1,
		FSConfig: wazero.NewFSConfig(), RuntimeConfig: config, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return fmt.Errorf("start PDFium: %w", err)
	}
	defer func() { _ = pool.Close() }()
	r := bufio.NewReader(in)
	w := bufio.NewWriter(out)
	for {
		var length uint64
		if err := binary.Read(r, binary.LittleEndian, &length); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if length > math.MaxInt32 {
			return fmt.Errorf("a file of %d bytes", length)
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(r, data); err != nil {
			return err
		}
		answer, err := readPDF(pool, data, textBytes)
		if err != nil {
			return err // PDFium is in an unknown state
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		if err := binary.Write(w, binary.LittleEndian, uint64(len(text))); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
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
	text, err := p.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: by})
	if err != nil {
		return page, err
	}
	defer func() { _, _ = p.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) }()
	count, err := p.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || count.Count <= 0 {
		return page, err
	}
	all, err := p.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, StartIndex: 0, Count: count.Count})
	if err != nil {
		return page, err
	}
	boxes := lineBoxes{p: p, page: text.TextPage}
	units := utf16.Encode([]rune(all.Text))
	boxes.known = len(units) == count.Count || len([]rune(all.Text)) == count.Count
	at := 0
	for line := range strings.SplitAfterSeq(all.Text, "\n") {
		n := len(utf16.Encode([]rune(line)))
		trimmed := strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\uf0b7", "•")
		if strings.TrimSpace(strings.Trim(trimmed, "\u0002\ufffe")) != "" {
			l := pdfLine{Text: trimmed}
			boxes.measure(&l, at, trimmed)
			page.Lines = append(page.Lines, l)
		}
		at += n
	}
	return page, nil
}

// lineBoxes asks PDFium where lines are. Only the first and the last letter of a line are
// asked for: each question takes a call into WebAssembly.
type lineBoxes struct {
	p     pdfium.Pdfium
	page  references.FPDF_TEXTPAGE
	known bool // positions in the text are those of letters on the page
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
	if font, err := b.p.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: b.page,
		Index: at + first}); err == nil {
		name := strings.ToLower(font.FontName)
		l.Bold = l.Bold || strings.Contains(name, "bold") || strings.Contains(name, "black") ||
			strings.Contains(name, "heavy")
	}
}
