package documents

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Input is a file to read.
type Input struct {
	Name string // its path; its ending helps to tell the type
	Type string // the media type that somebody declared; "" where nobody did
	Data []byte
}

// Member is a file inside a file: a part of an archive, or attached to a mail.
type Member struct {
	Name string
	Data []byte
}

// Extractor reads files. Several may be read at once.
type Extractor struct {
	limits Limits
	pdf    *pdfWorkers
}

// NewExtractor returns an Extractor. worker starts the process that reads PDF (ServePDF), apart from
// this one, because some PDFs take for ever or all memory.
func NewExtractor(limits Limits, worker Worker) *Extractor {
	return &Extractor{limits: limits, pdf: &pdfWorkers{start: worker, limits: limits}}
}

// Close ends the processes that read PDF.
func (r *Extractor) Close() error { return r.pdf.close() }

// Read reads one file that is not an archive. Errors are *UnreadableError where the file
// is to blame. attached are the files inside a mail.
func (r *Extractor) Read(ctx context.Context, in Input) (d *Document, attached []Member, err error) {
	if int64(len(in.Data)) > r.limits.FileBytes {
		return nil, nil, unreadable(
			TooLarge,
			nil,
			"it has %d MiB, more than the %d MiB that are read of one file",
			len(in.Data)>>20,
			r.limits.FileBytes>>20,
		)
	}
	if len(in.Data) == 0 {
		return nil, nil, unreadable(NoText, nil, "it is empty")
	}
	mediaType := Detect(in.Data, in.Name, in.Type)
	if mediaType == PDF {
		d, err := r.pdf.read(ctx, in.Data)
		return d, nil, err
	}
	// The other readers run here: their time is bounded by the size of what they read, and
	// a file that is slow all the same is left behind.
	type result struct {
		d        *Document
		attached []Member
		err      error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- result{err: unreadable(Damaged, fmt.Errorf("%v", v), "it cannot be read")}
			}
		}()
		d, attached, err := r.parse(in, mediaType)
		done <- result{d, attached, err}
	}()
	timer := time.NewTimer(r.limits.Time)
	defer timer.Stop()
	select {
	case got := <-done:
		return got.d, got.attached, got.err
	case <-timer.C:
		return nil, nil, unreadable(TooSlow, nil, "reading it took longer than %v", r.limits.Time)
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (r *Extractor) parse(in Input, mediaType string) (d *Document, attached []Member, err error) {
	w := &writer{limits: r.limits}
	var title string
	var warnings []string
	switch mediaType {
	case HTML:
		title, err = readHTML(w, in.Data, in.Type)
	case Markdown:
		title, err = readMarkdown(w, in.Data)
	case Text:
		title, err = readText(w, in.Data, in.Type)
	case CSV, TSV:
		err = readCSV(w, in.Data, in.Type)
	case DOCX:
		title, warnings, err = readDOCX(w, in.Data)
	case PPTX:
		title, err = readPPTX(w, in.Data)
	case XLSX:
		title, warnings, err = readXLSX(w, in.Data)
	case ODT, ODS, ODP:
		title, err = readODF(w, in.Data, mediaType)
	case EPUB:
		title, err = readEPUB(w, in.Data)
	case Mail:
		title, attached, warnings, err = readMail(w, in.Data, r.limits)
	case "application/x-ole-storage":
		return nil, nil, unreadable(
			Encrypted,
			nil,
			"it is an Office file with a password, or of before 2007: save it without one, as DOCX, PPTX or XLSX",
		)
	default:
		return nil, nil, unreadable(
			Unsupported,
			nil,
			"files of type %s are not read: what is read are %s",
			mediaType,
			Formats,
		)
	}
	if err != nil {
		return nil, nil, err
	}
	d, err = w.document(mediaType, title)
	if err != nil {
		if len(attached) > 0 {
			return nil, attached, err
		}
		return nil, nil, err
	}
	d.Warnings = append(d.Warnings, warnings...)
	return d, attached, nil
}

// ReasonOf returns why a file was not read; "" where the error is another.
func ReasonOf(err error) Reason {
	var u *UnreadableError
	if errors.As(err, &u) {
		return u.Reason
	}
	return ""
}
