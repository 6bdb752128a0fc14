package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// pdfMemoryPages is the largest memory of PDFium, in WebAssembly pages of 64 KiB: 512 MiB.
const pdfMemoryPages = 512 << 20 >> 16

// pdfAnswer is the content of a PDF as PDFium reads it.
type pdfAnswer struct {
	Reason Reason // why the file cannot be read; "": it was read
	Detail string
	Title  string
	Pages  []pdfPage // all, or a range of them
	Unread []int     // pages, from 1, that PDFium cannot read
	Blank  []int     // pages, from 1, that have drawings and no letters
	All    bool      // Pages are all pages of the file
}

// CompilePDFium compiles PDFium, which takes seconds, and stores the result in the folder cache, so that processes
// with this ServeOptions.Cache start quickly. It is no error if the folder cannot be written: nothing is stored
// then. The error says that PDFium does not start.
func CompilePDFium(ctx context.Context, cache string) error {
	pool, err := openPDFium(ctx, cache)
	if err != nil {
		return err
	}
	return pool.Close()
}

// openPDFium starts PDFium, a WebAssembly module that cannot open files, and returns its pool of one instance, which
// the caller closes. cache is the folder for its compiled form; with "" or a folder that cannot be written, as in a
// read-only container, starting takes seconds. It fails if the module cannot be started.
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

// pagesAtOnce is how many pages one instance of PDFium reads. It keeps memory for each page that it has read, until
// that is used up and no further page can be read.
const pagesAtOnce = 500

// readPDF reads the title of a PDF and the text and rules of a range of its pages, in new instances of PDFium so
// that files cannot see each other's memory. A PDF that cannot be read, or has more than textBytes of text, gives
// an answer with a Reason; single pages that cannot be read are listed in Unread. The error is not nil only if
// PDFium itself does not work.
func readPDF(pool pdfium.Pool, data []byte, textBytes int, pages pageRange) (*pdfAnswer, error) {
	p, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }() // of the last one
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
	begin, end := pages.of(count.PageCount)
	answer.All = begin == 0 && end == count.PageCount
	for i := begin; i < end; i++ {
		if i > begin && (i-begin)%pagesAtOnce == 0 {
			_ = p.Close()
			p, err = pool.GetInstance(time.Minute)
			if err != nil {
				return nil, err
			}
			opened, err = p.OpenDocument(&requests.OpenDocument{File: &data})
			if err != nil { // it was opened before
				return nil, err
			}
		}
		page, err := readPDFPage(p, opened.Document, i)
		if err != nil { // others may be read
			answer.Unread = append(answer.Unread, i+1)
		}
		answer.Pages = append(answer.Pages, page)
		if err == nil && len(page.Lines) == 0 && hasDrawings(p, opened.Document, i) {
			answer.Blank = append(answer.Blank, i+1)
		}
		for _, line := range page.Lines {
			letters += len(line.Text)
		}
		if letters > textBytes {
			return &pdfAnswer{
				Reason: TooLarge,
				Detail: fmt.Sprintf(
					"it has more text than is read of one file (%d bytes: documents.text_bytes)", textBytes,
				),
			}, nil
		}
	}
	if answer.All {
		answer.checkLetters()
	}
	return answer, nil
}

// checkLetters replaces an answer with all pages of a PDF by one with a Reason if none of them has a line: NoText,
// with the blank pages, or Damaged if some page cannot be read.
func (a *pdfAnswer) checkLetters() {
	for _, page := range a.Pages {
		if len(page.Lines) > 0 {
			return
		}
	}
	if len(a.Unread) > 0 {
		*a = pdfAnswer{Reason: Damaged, Detail: "none of its pages can be read"}
		return
	}
	*a = pdfAnswer{
		Reason: NoText,
		Detail: "it holds no text: its pages may be pictures, which need a program that recognises letters (OCR) first",
		Blank:  a.Blank,
	}
}
