package handlers

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/handlers/upload"
	"example.org/conclave/internal/jobs"
)

// UploadPrefix is the prefix of the names that uploads of documents have among the inputs of jobs.
const UploadPrefix = "documents-"

// postDocuments answers POST /v1/documents: with JSON as postSite does, else it stores the files among the inputs of
// jobs, where every server that may run the job finds them, and starts the job that reads them. It returns a problem if
// the body holds no files or cannot be stored (spoolDocuments), or the collection or the queue refuses the job.
func (a *API) postDocuments(c *call) error {
	if _, _, err := a.documentWriter(true); err != nil {
		return err
	}
	if given, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); given == schema.TypeJSON {
		return a.postSite(c)
	}
	if c.r.ContentLength > a.options.Write.UploadBytes {
		return upload.BodyTooLarge(a.options.Write.UploadBytes)
	}
	encoding, _ := c.query["encoding"].(string)
	if p := checkEncoding(encoding); p != nil {
		return p
	}
	who := front.CallerName(c.r)
	if !a.uploads.Take(who) {
		return schema.NewProblem(
			"too_many_requests",
			"This caller has as many uploads under way as one caller may have while others upload: wait until one of them ends.",
		)
	}
	defer a.uploads.Leave(who)
	var refused error // the problem of the request; the error of Keep only wraps it
	var job jobs.Job
	err := a.inputs.Keep(c.r.Context(), UploadPrefix, func(to io.Writer) error {
		refused = a.spoolDocuments(c, to)
		return refused
	}, func(name string) error {
		refused = c.admit(time.Now())
		if refused != nil {
			return refused
		}
		prefix, _ := c.query["prefix"].(string)
		job, refused = a.submitJob(c, jobs.Request{
			Kind: jobs.AddDocuments, Name: name, Prefix: prefix, Tags: stringsOf(c.query["tags"]), Encoding: encoding,
		})
		return refused
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return storeProblem(err)
	}
	return c.respond(c.status, job)
}

// uploadStore is the writer to which an upload is stored. err is the error of its last write, nil if it succeeded.
type uploadStore struct {
	to  io.Writer
	err error
}

// Write implements io.Writer: it writes b to k.to and keeps the error, or nil, in k.err.
func (k *uploadStore) Write(b []byte) (n int, err error) {
	n, err = k.to.Write(b)
	k.err = err
	return n, err
}

// spoolDocuments writes the files of the request's body, a form, zip or tar.gz, to where as a zip. It returns a problem
// if the body is none of these, too large, damaged or too slow, or cannot be stored. After a problem a part of the zip
// may be written, and the rest of the body is not read.
func (a *API) spoolDocuments(c *call, where io.Writer) error {
	to := &uploadStore{to: where}
	// A slow client is bounded as one that uploads passages.
	u := &uploadRequest{api: a, request: c.r, w: c.w, header: c.w.Header(), control: http.NewResponseController(c.w)}
	body := &upload.CountedBody{
		Body:  c.r.Body,
		Most:  a.options.Write.UploadBytes,
		Begin: u.beginReading,
		End:   u.endReading,
	}
	given, parameters, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	in := bufio.NewReader(body)
	start, _ := in.Peek(4)
	switch {
	case err == nil && given == "multipart/form-data":
		err = zipForm(to, multipart.NewReader(in, parameters["boundary"]), a.options.Write.UploadBytes)
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		_, err = io.Copy(to, in)
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		err = zipTar(to, in, a.options.Write.UploadBytes)
	default:
		err = errNoFiles
	}
	if err == nil {
		return nil
	}
	if !body.Ended.Load() {
		u.stopReading(body)
	}
	var refused *schema.Problem
	switch {
	case to.err != nil:
		return storeProblem(to.err)
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, upload.ErrTooMuch):
		return upload.BodyTooLarge(a.options.Write.UploadBytes)
	case errors.Is(err, errNoFiles):
		return schema.NewProblem(
			"unsupported_media_type",
			"The body is neither a form with files (multipart/form-data) nor "+
				"a zip or tar.gz: put a single file with PUT /v1/documents/{id}.",
		)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF) && !body.Ended.Load():
		return upload.BodyProblem(err, a.options.Write.UploadBytes)
	}
	return schema.NewProblem("unreadable_document", schema.Sentence("the upload cannot be read: "+err.Error()))
}

var errNoFiles = errors.New("no form and no archive")

// zipForm writes the files of a multipart form to to as a zip, under their file names. It returns a problem if a part
// is not a file or there is none, and upload.ErrTooMuch if the files have more than most bytes.
func zipForm(to io.Writer, parts *multipart.Reader, most int64) error {
	w := zip.NewWriter(to)
	n := 0
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := fileNameOf(part)
		if name == "" {
			return schema.NewProblem("invalid_document", fmt.Sprintf(
				"The form has a part %.80q that is no file; prefix and tags are parameters of the query.",
				part.FormName(),
			))
		}
		n++
		if err := addToZip(w, name, time.Time{}, part, &most); err != nil {
			return err
		}
	}
	if n == 0 {
		return schema.NewProblem("invalid_document", "The form has no files.")
	}
	return w.Close()
}

// fileNameOf returns the file name of a part of a form with its folders, which mime/multipart would cut off. It returns
// "" if the part has none.
func fileNameOf(part *multipart.Part) string {
	_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return parameters["filename"]
}

// zipTar writes the files of a gzipped tar to to as a zip. Other entries, such as links, are left out. It fails if the
// tar is damaged, and with upload.ErrTooMuch if its files have more than most bytes.
func zipTar(to io.Writer, from io.Reader, most int64) error {
	unpacked, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	w := zip.NewWriter(to)
	r := tar.NewReader(unpacked)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return w.Close()
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := addToZip(w, h.Name, h.ModTime, r, &most); err != nil {
			return err
		}
	}
}

// addToZip adds a file to a zip and subtracts its bytes from *left. It returns upload.ErrTooMuch, with part of the file
// written, if the file has more bytes than *left. It also fails if from cannot be read or w not be written.
func addToZip(w *zip.Writer, name string, modified time.Time, from io.Reader, left *int64) error {
	to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified})
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, *left+1))
	*left -= n
	if *left < 0 {
		return upload.ErrTooMuch
	}
	return err
}
