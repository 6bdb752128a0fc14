package documents

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"math"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

const (
	recognisedDPI = 200  // dots per inch of a page for tesseract, which reads that well
	shownDPI      = 144  // of a page for people
	drawnWidth    = 3508 // pixels of the longer side, at most: A4 at 300 dots an inch
	drawnLeast    = 1    // pixels of a side, at least
	pointsInch    = 72.  // points per inch
)

// DrawnPage is a page of a PDF as a picture.
type DrawnPage struct {
	PNG   []byte // nil: the PDF has no page with this number
	Pages int    // of the PDF
}

// DrawPage draws a page of a PDF, numbered from 1, and marks the words of a text on it; "" marks none. It waits for
// a process of the pool. PNG is nil if there is no such page. The error is an *UnreadableError if the file is no
// PDF that can be read, drawing it takes too long or there is no pool, and ctx's error if ctx ends first.
func (r *Extractor) DrawPage(ctx context.Context, data []byte, number int, mark string) (DrawnPage, error) {
	if r.pool == nil {
		return DrawnPage{}, unreadable(Unsupported, nil, "PDF is not read here")
	}
	a, err := r.pool.ask(ctx, r.group, &request{
		draw: number, dpi: shownDPI, mark: mark, limits: r.limits, file: Input{Data: data}, mediaType: PDF,
	})
	if err != nil {
		return DrawnPage{}, err
	}
	drawn := DrawnPage{Pages: a.pages}
	if len(a.members) == 1 {
		drawn.PNG = a.members[0].Data
	}
	return drawn, nil
}

// drawPDFPage returns the page of a PDF that a request asks for as a PNG, with the words of its text marked, and
// the number of pages. picture is nil, without an error, if there is no such page. A page that would be too large
// is drawn with fewer dots per inch. An error leaves PDFium in an unknown state.
func drawPDFPage(pool pdfium.Pool, r *request) (picture []byte, pages int, err error) {
	p, err := pool.GetInstance(time.Minute)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = p.Close() }()
	opened, err := p.OpenDocument(&requests.OpenDocument{File: &r.file.Data})
	if err != nil {
		return nil, 0, err
	}
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil || r.draw > count.PageCount {
		return nil, count.PageCount, err
	}
	index := r.draw - 1
	page := requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: index}}
	size, err := p.FPDF_GetPageSizeByIndex(&requests.FPDF_GetPageSizeByIndex{Document: opened.Document, Index: index})
	if err != nil {
		return nil, 0, err
	}
	scale := float64(r.dpi) / pointsInch
	if longer := max(size.Width, size.Height); longer*scale > drawnWidth {
		scale = drawnWidth / longer
	}
	pixels := func(points float64) int { return max(drawnLeast, int(math.Round(points*scale))) }
	drawn, err := p.RenderPageInPixels(&requests.RenderPageInPixels{
		Page: page, Width: pixels(size.Width), Height: pixels(size.Height),
	})
	if err != nil {
		return nil, 0, err
	}
	defer drawn.Cleanup()
	shown := drawn.Result.RenderedImage
	if rgba, ok := shown.(*image.RGBA); ok && r.mark != "" {
		places, err := placesOf(p, page, rgba.Bounds(), r.mark)
		if err != nil {
			return nil, 0, err
		}
		for _, at := range places {
			highlight(rgba, at)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, shown); err != nil {
		return nil, 0, err
	}
	return out.Bytes(), count.PageCount, nil
}

// hasDrawings reports whether a page, by its index from 0, has any text, line or picture object. It is true if PDFium
// cannot tell.
func hasDrawings(p pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) bool {
	page := requests.Page{ByIndex: &requests.PageByIndex{Document: document, Index: index}}
	count, err := p.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	return err != nil || count.Count > 0
}
