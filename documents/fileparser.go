package documents

import (
	"context"
	"errors"
	"fmt"

	"github.com/klippa-app/go-pdfium"
)

// fileParser reads files in this process, and answers the requests for them.
type fileParser struct {
	pdf    pdfium.Pool // nil: PDF is refused
	memory *wasmMemory // of PDFium; nil if pdf is nil
}

// answer does what a request asks for: read a file, unpack an archive or draw a page. It never returns nil; errors
// are in answer.refused. If reading panics, the file is refused as damaged.
func (p *fileParser) answer(ctx context.Context, r *request) (a *answer) {
	defer func() {
		if v := recover(); v != nil {
			a = refuse(unreadable(Damaged, fmt.Errorf("%v", v), "it cannot be read"))
		}
	}()
	if r.unpack {
		return unpack(r)
	}
	if r.draw > 0 {
		return p.draw(r)
	}
	a = &answer{}
	d, leaves, err := p.read(ctx, r, a)
	a.document, a.leaves = d, leaves
	if err != nil {
		a.document = nil
		a.refused = refuse(err).refused
		return a
	}
	if d == nil { // pages of a PDF, for another process
		return a
	}
	d.Title = cutShort(chooseTitle(d, d.Title, r.file.Name), longestTitle)
	if r.words > 0 {
		if err := d.cutInto(r.words); err != nil {
			return refuse(err)
		}
	}
	return a
}

// refuse returns an answer that refuses a file with this error. An error that is not an *UnreadableError becomes one
// with the reason Damaged.
func refuse(err error) *answer {
	var known *UnreadableError
	if !errors.As(err, &known) {
		known = &UnreadableError{Reason: Damaged, Detail: err.Error()}
	}
	return &answer{refused: known}
}

// read returns the document of a file of any format, and adds to the answer the attached files and the scanned pages.
// The document of a range of pages is nil: the answer has them as its member.
// leaves is true if PDFium failed, so that this process must not be used again.
func (p *fileParser) read(ctx context.Context, r *request, a *answer) (d *Document, leaves bool, err error) {
	mediaType := r.mediaType
	if mediaType == "" {
		mediaType = Detect(r.file.Data, r.file.Name, r.file.Type)
	}
	if mediaType != PDF {
		d, a.members, err = parse(r.file, mediaType, r.limits)
		return d, false, err
	}
	if p.pdf == nil {
		return nil, false, unreadable(Unsupported, nil, "PDF is not read here")
	}
	var found *pdfAnswer
	if r.layOut {
		found, err = decodeParts(r.file.Data)
		if err != nil {
			return nil, false, err
		}
		found.checkLetters()
	} else {
		found, err = readPDF(p.pdf, r.file.Data, r.limits.TextBytes, r.pages)
		if err != nil { // PDFium is in an unknown state
			return nil, true, p.reasonOfPDFium()
		}
	}
	a.blank = found.Blank
	if found.Reason != "" {
		return nil, false, unreadable(found.Reason, nil, "%s", found.Detail)
	}
	if r.pages.parts > 1 && !found.All {
		a.blank = nil
		a.members = []Member{{Name: "pages", Data: found.encode()}}
		return nil, false, nil
	}
	d, err = layOut(found, r.limits)
	return d, false, err
}

// draw returns an answer whose only member is a page of a PDF as a PNG, and the number of pages. If there is no
// such page, it has no member. If PDFium fails, the answer refuses the file and answer.leaves is set: this process
// must not be used again. Without PDFium the file is refused.
func (p *fileParser) draw(r *request) *answer {
	if p.pdf == nil {
		return refuse(unreadable(Unsupported, nil, "PDF is not read here"))
	}
	picture, pages, err := drawPDFPage(p.pdf, r)
	if err != nil {
		a := refuse(p.reasonOfPDFium())
		a.leaves = true
		return a
	}
	a := &answer{pages: pages}
	if picture != nil {
		a.members = []Member{{Name: "page.png", Data: picture}}
	}
	return a
}

// reasonOfPDFium returns the *UnreadableError for a failure of PDFium: TooLarge if it got no more memory, else Damaged.
func (p *fileParser) reasonOfPDFium() error {
	if p.memory.refused() {
		return unreadable(TooLarge, nil, "PDFium needs more memory for it than it may have")
	}
	return unreadable(Damaged, nil, "PDFium ended on it")
}

// parse returns the document of a file of any media type but PDF, and the files attached to a mail. The error is an
// *UnreadableError if the type is not supported or the file cannot be read; attached is returned even then.
func parse(in Input, mediaType string, limits Limits) (d *Document, attached []Member, err error) {
	w := &writer{limits: limits, encoding: in.Encoding}
	if mediaType == EPUB || mediaType == DOCX { // the texts in it are in UTF-8
		w.encoding = ""
	}
	format := formatOfType(mediaType)
	switch {
	case mediaType == oldOffice:
		return nil, nil, unreadable(
			Encrypted,
			nil,
			"it is an Office file with a password, or of before 2007: save it without one, as DOCX, PPTX or XLSX, or "+
				"install LibreOffice, which converts DOC, XLS and PPT",
		)
	case format.read == nil:
		return nil, nil, unreadable(
			Unsupported, nil, "files of type %s are not read: what is read are %s", mediaType, FormatNames(),
		)
	}
	c, err := format.read(w, in)
	if err != nil {
		return nil, nil, err
	}
	attached = c.attached
	d, err = w.document(mediaType, c.title)
	if err != nil {
		if len(attached) > 0 {
			return nil, attached, err
		}
		return nil, nil, err
	}
	d.Warnings = append(d.Warnings, c.warnings...)
	return d, attached, nil
}
