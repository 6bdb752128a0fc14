package documents

import (
	"bytes"
	"image/png"
	"math"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

const (
	drawnDPI   = 200  // dots per inch: tesseract reads that well
	drawnWidth = 3508 // pixels of the longer side, at most: A4 at 300 dots an inch
	drawnLeast = 1    // pixels of a side, at least
	pointsInch = 72.  // points per inch
)

// drawPDFPage returns a page of a PDF, numbered from 1, as a PNG for tesseract. An error of PDFium leaves it in an
// unknown state.
func drawPDFPage(pool pdfium.Pool, data []byte, number int) ([]byte, error) {
	p, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	opened, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return nil, err
	}
	page := requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: number - 1}}
	size, err := p.FPDF_GetPageSizeByIndex(&requests.FPDF_GetPageSizeByIndex{Document: opened.Document, Index: number - 1})
	if err != nil {
		return nil, err
	}
	scale := drawnDPI / pointsInch
	if longer := max(size.Width, size.Height); longer*scale > drawnWidth {
		scale = drawnWidth / longer
	}
	pixels := func(points float64) int { return max(drawnLeast, int(math.Round(points*scale))) }
	drawn, err := p.RenderPageInPixels(&requests.RenderPageInPixels{
		Page: page, Width: pixels(size.Width), Height: pixels(size.Height),
	})
	if err != nil {
		return nil, err
	}
	defer drawn.Cleanup()
	var out bytes.Buffer
	if err := png.Encode(&out, drawn.Result.RenderedImage); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// hasDrawings reports whether a page, by its index from 0, has any text, line or picture object. It is true if PDFium
// cannot tell.
func hasDrawings(p pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) bool {
	page := requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: index}}
	count, err := p.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	return err != nil || count.Count > 0
}
