package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/originals"
	"example.org/conclave/internal/wording"

	"github.com/klauspost/compress/gzhttp"
)

// shownTypes are the media types that originals are served with; all others are application/octet-stream. true: a
// browser may show it in the page that asks; false: it is for saving. None of them runs scripts.
var shownTypes = map[string]bool{
	"application/pdf": true,
	"image/png":       true,
	"image/jpeg":      true,
	"image/gif":       true,
	"image/webp":      true,
	"image/bmp":       true,
	"text/plain":      false,
}

const (
	typeBytes = "application/octet-stream"
	// originalPolicy keeps a browser from running or fetching anything that an original names.
	originalPolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'self'"
)

// getOriginal answers GET /v1/originals/{id} with the file that a document was read from, or the part of it that the
// header Range names. If the query has a page, it answers with that page of a PDF as a picture (sendPage). It returns a
// problem if the file is not kept, or the caller may not see all passages of the document.
func (a *API) getOriginal(c *call) error {
	d, err := a.visibleDocument(c)
	if err != nil {
		return err
	}
	reader := a.originals.Load()
	if reader == nil {
		return noOriginal(d.ID)
	}
	take := a.admission.AnswerMemoryOf(c.r)
	room := func(bytes int) error { return take(c.r.Context(), bytes) }
	if number, given := c.query["page"].(json.Number); given {
		page, err := number.Int64()
		if err != nil {
			return err // the schema allows integers alone
		}
		return a.sendPage(c, *reader, &d, int(page), room)
	}
	original, err := (*reader).Open(c.r.Context(), &d, room)
	switch {
	case errors.Is(err, originals.ErrGone):
		return noOriginal(d.ID)
	case err != nil:
		return err
	}
	defer func() { _ = original.Close() }()
	a.admission.ReleaseWork(c.r.Context()) // a slow reader must not delay other requests
	describeOriginal(c.w.Header(), &d)
	control := http.NewResponseController(c.w)
	// A client that takes a part of the file before each deadline may go on.
	paced := &pacedReader{original, func() { a.extendWriting(control) }}
	w := &rangeWriter{ResponseWriter: c.w}
	http.ServeContent(w, c.r, "", time.Time{}, paced)
	if !w.refused {
		return nil
	}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Content-Security-Policy", "ETag"} {
		c.w.Header().Del(name)
	}
	return schema.NewProblem("no_such_range", fmt.Sprintf("Range is %s; the file has %d bytes.",
		wording.Quote(c.r.Header.Get("Range")), original.Bytes))
}

// sendPage sends a page of a PDF as a picture, with the text of the passage that the query names marked in it. room
// takes memory for the picture. It returns a problem if the document is not a PDF, or page, passage or file do not
// exist.
func (a *API) sendPage(
	c *call,
	reader OriginalReader,
	d *corpus.Document,
	page int,
	room func(bytes int) error,
) error {
	mark := ""
	if id, _ := c.query["passage"].(string); id != "" {
		get, err := a.passageGetter(c, true)
		if err != nil {
			return err
		}
		passage, _, ok, err := get(c.r.Context(), id)
		if err != nil {
			return err
		}
		if !ok {
			return schema.NewProblem("unknown_passage", fmt.Sprintf("There is no passage %s.", wording.Quote(id)))
		}
		mark = passage.Text
	}
	if mediaType, _, err := mime.ParseMediaType(d.MediaType); err != nil || mediaType != documents.PDF {
		return schema.NewProblem("no_such_page", fmt.Sprintf("The document %s is no PDF: only these have pages to draw.",
			wording.Quote(d.ID)))
	}
	goOn := c.lendTurn()
	drawn, err := reader.Draw(c.r.Context(), d, page, mark, room)
	goOn()
	switch {
	case errors.Is(err, originals.ErrGone):
		return noOriginal(d.ID)
	case documents.ReasonOf(err) != "":
		return schema.NewProblem("unreadable_document", schema.Sentence(err.Error()))
	case err != nil:
		return err
	case drawn.PNG == nil:
		return schema.NewProblem("no_such_page", fmt.Sprintf("The document %s has %d pages, and no page %d.",
			wording.Quote(d.ID), drawn.Pages, page))
	}
	h := c.w.Header()
	h.Set("X-Pages", strconv.Itoa(drawn.Pages))
	h.Set("Content-Security-Policy", originalPolicy)
	h.Set("Cache-Control", "private, no-cache")
	return c.sendText(http.StatusOK, "image/png", drawn.PNG)
}

// rangeWriter is a ResponseWriter that drops an answer with the status 416 and sets refused instead, so that a problem
// can be sent.
type rangeWriter struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader implements http.ResponseWriter: it sends the header, except for a range that cannot be served (416),
// which it only remembers in w.refused.
func (w *rangeWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable {
		w.refused = true
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter: it sends b, or drops it if the range was refused.
func (w *rangeWriter) Write(b []byte) (int, error) {
	if w.refused {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// describeOriginal sets the headers of a document's file, except for its length. Only types that are safe to show get
// their own media type and are shown inline; a browser downloads the others.
func describeOriginal(h http.Header, d *corpus.Document) {
	mediaType, _, err := mime.ParseMediaType(d.MediaType)
	inline, shown := shownTypes[mediaType]
	if err != nil || !shown {
		mediaType = typeBytes
	}
	disposition := "attachment"
	if inline {
		disposition = "inline"
	}
	if mediaType == "text/plain" {
		mediaType += "; charset=utf-8"
	}
	h.Set("Content-Type", mediaType)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": fileName(d.ID)}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", originalPolicy)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", `"`+d.SHA256+`"`)
	h.Set(gzhttp.HeaderNoCompression, "1") // ranges are of the bytes as they are
}

// fileName returns a name to save the original of a document as: the last part of its id, with _ for control
// characters, quotation marks and backslashes, and without leading dots. It is "" if only dots are left.
func fileName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, path.Base(id))
	return strings.TrimLeft(name, ".")
}

// visibleDocument returns the document that the path names. It returns the problem of an unknown document if the caller
// may not see all its passages.
func (a *API) visibleDocument(c *call) (d corpus.Document, err error) {
	get, err := a.passageGetter(c, true)
	if err != nil {
		return d, err
	}
	ctx := c.r.Context()
	if !identity.IsRestricted(ctx) {
		var ok bool
		d, _, ok, err = keeping.Describe(ctx, get, c.name)
		if err == nil && !ok {
			err = unknownDocument(c.name)
		}
		return d, err
	}
	d, _, all, ok, err := keeping.Passages(ctx, get, c.name)
	switch {
	case errors.Is(err, keeping.ErrChanging):
		return d, schema.NewProblem("unavailable", schema.Sentence(err.Error()))
	case err != nil:
		return d, err
	case !ok, len(all) < d.Passages:
		return d, unknownDocument(c.name)
	}
	return d, nil
}

// noOriginal returns the problem of a document whose file cannot be served.
func noOriginal(id string) *schema.Problem {
	return schema.NewProblem("no_original", fmt.Sprintf("Of the document %s, %v.", wording.Quote(id), originals.ErrGone))
}

// OriginalReader opens the files that documents were read from (originals.Reader).
type OriginalReader interface {
	// Open opens the file that a document was read from. It returns originals.ErrGone if the file is not kept. It calls
	// room with the bytes of memory that it needs, and returns room's error.
	Open(ctx context.Context, d *corpus.Document, room func(bytes int) error) (*originals.Original, error)
	// Draw returns a page of a PDF, counted from 1, as a picture in which the words of the text mark are marked. It
	// fails as Open does, or with a *documents.UnreadableError.
	Draw(
		ctx context.Context, d *corpus.Document, page int, mark string, room func(bytes int) error,
	) (documents.DrawnPage, error)
}

// pacedReader calls extend before each reading.
type pacedReader struct {
	io.ReadSeeker
	extend func()
}

// Read implements io.Reader: it extends the deadline of the answer before it reads. It returns the error of the reader
// below.
func (p *pacedReader) Read(b []byte) (int, error) {
	p.extend()
	return p.ReadSeeker.Read(b)
}
