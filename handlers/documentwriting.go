package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"time"
	"unicode/utf8"

	"example.org/conclave/documents"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/store"
)

// documentWriter returns the keeper of documents, and the writer that it uses. reads says that passages will be put,
// which is refused while RefusePassages is in force. It returns a problem if documents cannot be changed on this
// server.
func (a *API) documentWriter(reads bool) (*keeping.Keeper, *collectionWriter, error) {
	get := a.changeWriter
	if reads {
		get = a.passageWriter
	}
	w, err := get()
	if err != nil {
		return nil, nil, err
	}
	k := a.keeper.Load()
	if k == nil {
		return nil, nil, schema.NewProblem("not_written", "This server was not set up to read documents.")
	}
	return k, w, nil
}

// putDocument answers PUT /v1/documents/{id}: it stores the file in the body, as it is or as a part of a form, as the
// document with this id, described by the query and the form. It returns a problem if the file cannot be read or
// stored, or a condition in the headers is not met.
func (a *API) putDocument(c *call) error {
	keeper, writer, err := a.documentWriter(true)
	if err != nil {
		return err
	}
	condition, p := documentCondition(c.r)
	if p != nil {
		return p
	}
	file := keeping.DocumentFile{About: documents.About{ID: c.name}}
	if p := describeByQuery(&file, c); p != nil {
		return p
	}
	body, err := c.readBody(a.options.Write.DocumentBytes)
	if err != nil {
		return err
	}
	file.Data = body
	given := c.r.Header.Get("Content-Type")
	if name, parameters, _ := mime.ParseMediaType(given); name == "multipart/form-data" {
		if p := readForm(&file, body, parameters["boundary"]); p != nil {
			return p
		}
	} else if name != "application/octet-stream" {
		file.Type = given
	}
	if p := checkEncoding(file.Encoding); p != nil {
		return p
	}
	result, err := a.changeDocument(c, func(ctx context.Context) (keeping.ChangeResult, error) {
		return keeper.Put(ctx, file, condition)
	})
	if err != nil {
		return err
	}
	return a.sendResult(c, writer, result)
}

// deleteDocument answers DELETE /v1/documents/{id}: it deletes the document with all its passages. It returns a problem
// if there is none with this id, or a condition in the headers is not met.
func (a *API) deleteDocument(c *call) error {
	keeper, writer, err := a.documentWriter(false)
	if err != nil {
		return err
	}
	condition, p := documentCondition(c.r)
	if p != nil {
		return p
	}
	result, err := a.changeDocument(c, func(ctx context.Context) (keeping.ChangeResult, error) {
		return keeper.Delete(ctx, c.name, condition)
	})
	if err != nil {
		return err
	}
	if result.Outcome == store.Absent {
		return unknownDocument(c.name)
	}
	return a.sendResult(c, writer, result)
}

// documentCondition returns the condition in the headers If-Match and If-None-Match, or a problem if they are
// contradictory.
func documentCondition(r *http.Request) (keeping.Condition, *schema.Problem) {
	var change store.Change
	p := readConditions(r, &change)
	return keeping.Condition{IfMatch: change.IfMatch, IfAbsent: change.IfAbsent}, p
}

// changeDocument runs do, which changes documents, and counts the change. It extends the connection's write deadline
// until do returns, since reading a large file and a full backlog take time. Errors become problems.
func (a *API) changeDocument(
	c *call, do func(context.Context) (keeping.ChangeResult, error),
) (keeping.ChangeResult, error) {
	control := http.NewResponseController(c.w)
	stop := a.keepExtending(func() { a.extendWriting(control) })
	result, err := do(c.r.Context())
	stop()
	if err != nil {
		return result, documentProblem(err)
	}
	a.options.Metrics.countWrite(string(result.Outcome), nil)
	return result, nil
}

// documentProblem returns the problem for an error of reading or storing a document. Errors of the store are those of
// storeProblem.
func documentProblem(err error) error {
	var unreadable *documents.UnreadableError
	var field *corpus.FieldError
	var version *store.VersionError
	switch {
	case errors.As(err, &unreadable):
		detail := schema.Sentence(unreadable.Error())
		switch unreadable.Reason {
		case documents.Unsupported:
			return schema.NewProblem("unsupported_media_type", detail)
		case documents.TooLarge:
			return schema.NewProblem("body_too_large", detail+
				" POST /v1/documents takes a long log, table or list in JSON in parts.")
		}
		return schema.NewProblem("unreadable_document", detail,
			schema.ProblemField{Pointer: "", Detail: string(unreadable.Reason)})
	case errors.As(err, &field):
		return schema.NewProblem("invalid_document", schema.Sentence("the document cannot be stored: "+err.Error()))
	case errors.As(err, &version):
		return schema.NewProblem("version_mismatch", schema.Sentence(version.ErrorForDocument()))
	case errors.Is(err, store.ErrTooMuch):
		return schema.NewProblem("body_too_large", schema.Sentence(err.Error()))
	}
	return storeProblem(err)
}

// sendResult sends the result of a change of a document: 201 with Location if the document is new, else 200. With
// refresh=wait in the query it first waits until searches see the change. It returns a problem if the wait fails; the
// change is stored nevertheless.
func (a *API) sendResult(c *call, writer *collectionWriter, result keeping.ChangeResult) error {
	if c.query["refresh"] == "wait" { // where nothing changed, for what was put before
		a.admission.ReleaseWork(c.r.Context())
		if err := a.awaitVisible(c.r, writer, result.Seq, http.NewResponseController(c.w)); err != nil {
			return err
		}
	}
	front.ExchangeOf(c.r.Context()).Note(slog.String("outcome", string(result.Outcome)))
	h := c.w.Header()
	writer.noteBacklog(h)
	if result.Version != "" {
		h.Set("ETag", `"`+result.Version+`"`)
	}
	status := http.StatusOK
	if result.Outcome == store.Created {
		status = http.StatusCreated
		h.Set("Location", rootOf(c.r.Context())+documentPath(result.ID))
	}
	return c.respond(status, result)
}

// describeByQuery sets the fields of a document that the query string describes. It returns a problem if a value is
// invalid.
func describeByQuery(f *keeping.DocumentFile, c *call) *schema.Problem {
	text := func(name string) string { s, _ := c.query[name].(string); return s }
	f.Title, f.Source = text("title"), text("source")
	f.Tags = stringsOf(c.query["tags"])
	f.Root = text("root")
	f.Encoding = text("encoding")
	texts := map[string]string{}
	for _, name := range []string{"modified", "metadata"} {
		if value, given := c.query[name].(string); given {
			texts[name] = value
		}
	}
	return setDescription(f, texts)
}

// checkEncoding returns a problem unless there is a text encoding of this name, or the name is "".
func checkEncoding(name string) *schema.Problem {
	if err := documents.CheckEncoding(name); err != nil {
		return schema.NewProblem("unknown_value", schema.Sentence(err.Error()),
			schema.ProblemField{Pointer: "/encoding", Parameter: "encoding", Detail: err.Error()})
	}
	return nil
}

// setDescription sets f.Modified and f.Metadata from the texts with these names in texts, if given. It returns a
// problem if the time is not in RFC 3339 or the metadata are not a JSON object. Otherwise it returns nil.
func setDescription(f *keeping.DocumentFile, texts map[string]string) *schema.Problem {
	wrong := func(name, detail string) *schema.Problem {
		return schema.NewProblem("invalid_document", fmt.Sprintf("%s %s.", name, detail),
			schema.ProblemField{Pointer: "/" + name, Parameter: name, Detail: detail})
	}
	if modified, given := texts["modified"]; given {
		var err error
		f.Modified, err = time.Parse(time.RFC3339, modified)
		if err != nil {
			return wrong("modified", "has to be a time as 2026-01-31T12:00:00Z")
		}
	}
	metadata, given := texts["metadata"]
	if !given {
		return nil
	}
	parsed, p := schema.ParseJSON([]byte(metadata))
	if p != nil {
		return p
	}
	object, ok := parsed.(map[string]any)
	if !ok {
		return wrong("metadata", "has to be a JSON object of strings, numbers and booleans")
	}
	f.Metadata = object
	return nil
}

// readForm sets f from a multipart form: the content from the part file, and the description from the other parts. It
// returns a problem if the form is malformed or has no part file, or more than one.
func readForm(f *keeping.DocumentFile, body []byte, boundary string) *schema.Problem {
	broken := func(detail string) *schema.Problem {
		return schema.NewProblem("invalid_document", "The form cannot be read: "+detail)
	}
	if boundary == "" {
		return broken("Content-Type names no boundary.")
	}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	given := false
	texts := map[string]string{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return broken(schema.Sentence(err.Error()))
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return broken(schema.Sentence(err.Error()))
		}
		switch name := part.FormName(); name {
		case "file":
			if given {
				return broken("it has two parts named file; POST /v1/documents takes many.")
			}
			given = true
			f.Data = data
			f.Type = part.Header.Get("Content-Type")
			if f.Type == "application/octet-stream" {
				f.Type = ""
			}
		case "tags":
			f.Tags = append(f.Tags, string(data))
		case "title", "source", "encoding", "modified", "metadata":
			texts[name] = string(data)
		default:
			return broken(fmt.Sprintf(
				"it has a part %.80q; those that are known are file, title, source, encoding, modified, tags and metadata.", name))
		}
		if name := part.FormName(); name != "file" && !utf8.Valid(data) {
			return schema.NewProblem("invalid_utf8", fmt.Sprintf("The part %s of the form is not UTF-8.", name))
		}
	}
	if !given {
		return broken("it has no part named file.")
	}
	if title, ok := texts["title"]; ok {
		f.Title = title
	}
	if source, ok := texts["source"]; ok {
		f.Source = source
	}
	if encoding, ok := texts["encoding"]; ok {
		f.Encoding = encoding
	}
	return setDescription(f, texts)
}
