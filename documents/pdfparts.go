package documents

import (
	"context"
	"encoding/binary"
	"math"

	"golang.org/x/sync/errgroup"
)

const (
	partedBytes = 256 << 10 // a PDF with fewer bytes is read by one process
	partedPages = 24        // and so is one with fewer pages for each process
	mostParts   = 8         // processes that read one PDF at the same time
)

// pageRange is a part of the pages of a PDF: the first, second and so on of so many about equal ones. The zero value
// is all pages.
type pageRange struct{ part, parts int }

// of returns the indexes of the range's pages, from begin to before end, in a PDF with so many pages. If the PDF
// has fewer than partedPages pages for each range, the first range has all pages and the others none.
func (r pageRange) of(pages int) (begin, end int) {
	switch {
	case r.parts <= 1:
		return 0, pages
	case pages < r.parts*partedPages && r.part == 0:
		return 0, pages
	case pages < r.parts*partedPages:
		return 0, 0
	}
	return pages * r.part / r.parts, pages * (r.part + 1) / r.parts
}

// askPDF returns the answer to a request for a PDF. A large one is read by all processes of the pool that are free
// at the moment, each a range of its pages; another one then makes the document of all. If a range fails, the whole
// is read by one process. The error is that of ask.
func (r *Extractor) askPDF(ctx context.Context, whole *request) (*answer, error) {
	n := 1
	if r.pool != nil && len(whole.file.Data) >= partedBytes {
		n = min(r.pool.spare(), mostParts)
	}
	if n <= 1 {
		return r.ask(ctx, whole)
	}
	answers := make([]*answer, n)
	g, asking := errgroup.WithContext(ctx)
	for i := range n {
		part := *whole
		part.pages = pageRange{i, n}
		g.Go(func() (err error) {
			answers[i], err = r.pool.ask(asking, r.group, &part)
			return err
		})
	}
	err := g.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil: // its reason may be that of a part
		return r.ask(ctx, whole)
	case answers[0].document != nil || len(answers[0].blank) > 0: // it has few pages
		return answers[0], nil
	}
	layOut := *whole
	layOut.layOut = true
	layOut.file.Data = nil
	for _, a := range answers {
		if a.refused != nil || len(a.members) != 1 {
			return r.ask(ctx, whole)
		}
		layOut.file.Data = append(layOut.file.Data, a.members[0].Data...)
	}
	return r.ask(ctx, &layOut)
}

// encode returns the title and the pages of an answer as bytes that decodeParts reads.
func (a *pdfAnswer) encode() []byte {
	var e encoder
	e.text(a.Title)
	for _, all := range [][]int{a.Unread, a.Blank} {
		e.number(len(all))
		for _, page := range all {
			e.number(page)
		}
	}
	e.number(len(a.Pages))
	for _, p := range a.Pages {
		e.floats(p.Width, p.Height)
		e.number(len(p.Lines))
		for _, l := range p.Lines {
			e.text(l.Text)
			e.floats(l.Left, l.Right, l.Bottom, l.Top, l.Size)
			e.flag(l.Bold)
			e.number(len(l.Words))
			for _, w := range l.Words {
				e.text(w.Text)
				e.floats(w.Left, w.Right)
			}
		}
		e.number(len(p.Rules))
		for _, rule := range p.Rules {
			e.floats(rule.Left, rule.Bottom, rule.Right, rule.Top)
		}
	}
	return e.b
}

// decodeParts returns the pages of several encoded answers, appended to each other, as a single answer with the title
// of the first. No bytes give an empty answer. It returns errFrame for damaged bytes; the answer is then of no use.
func decodeParts(encoded []byte) (*pdfAnswer, error) {
	d := decoder{b: encoded}
	a := &pdfAnswer{}
	for first := true; len(d.b) > 0; first = false {
		title := d.text()
		if first {
			a.Title = title
		}
		for _, all := range []*[]int{&a.Unread, &a.Blank} {
			for range d.count() {
				*all = append(*all, d.number())
			}
		}
		for range d.count() {
			a.Pages = append(a.Pages, d.page())
		}
	}
	return a, d.err
}

// page returns the next page of bytes that pdfAnswer.encode wrote. Damaged bytes set d.err, and the page is then of no
// use.
func (d *decoder) page() (p pdfPage) {
	d.floats(&p.Width, &p.Height)
	for range d.count() {
		l := pdfLine{Text: d.text()}
		d.floats(&l.Left, &l.Right, &l.Bottom, &l.Top, &l.Size)
		l.Bold = d.flag()
		for range d.count() {
			w := pdfWord{Text: d.text()}
			d.floats(&w.Left, &w.Right)
			l.Words = append(l.Words, w)
		}
		p.Lines = append(p.Lines, l)
	}
	for range d.count() {
		var rule pdfRule
		d.floats(&rule.Left, &rule.Bottom, &rule.Right, &rule.Top)
		p.Rules = append(p.Rules, rule)
	}
	return p
}

// floats appends numbers in eight bytes each.
func (e *encoder) floats(all ...float64) {
	for _, f := range all {
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(f))
	}
}

// floats reads numbers of eight bytes each. If there are too few bytes, it sets d.err and drops the rest.
func (d *decoder) floats(all ...*float64) {
	for _, f := range all {
		if len(d.b) < 8 {
			d.b, d.err = nil, errFrame
			return
		}
		*f = math.Float64frombits(binary.LittleEndian.Uint64(d.b))
		d.b = d.b[8:]
	}
}
