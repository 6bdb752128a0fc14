package handlers

import (
	"context"
	"mime"
	"net/http"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/store"
)

// KeptDocument is a stored document as the adapters of other APIs show it.
type KeptDocument struct {
	corpus.Document
	Text string // where it was asked for
}

// KeepDocument adds or replaces a document by a file, and returns the document when searches see it. contentType may be
// "" if it is not known. It fails if the file cannot be read or stored, or the server only reads. The content type
// application/octet-stream counts as unknown.
func (e *admittedEngine) KeepDocument(
	ctx context.Context,
	id, contentType string,
	data []byte,
) (d KeptDocument, err error) {
	defer e.call.lendTurn()()
	keeper, writer, err := e.call.api.documentWriter(true)
	if err != nil {
		return d, err
	}
	if name, _, _ := mime.ParseMediaType(contentType); name == "application/octet-stream" {
		contentType = ""
	}
	file := keeping.DocumentFile{About: documents.About{ID: id}, Type: contentType, Data: data}
	result, err := e.call.api.changeDocument(e.call, func(ctx context.Context) (keeping.ChangeResult, error) {
		return keeper.Put(ctx, file, keeping.Condition{})
	})
	if err != nil {
		return d, err
	}
	return e.awaitDocument(ctx, writer, result)
}

// AmendDocument replaces the tags and metadata of a document, and returns the document when searches see them. It fails
// if there is none with this id, or the server only reads.
func (e *admittedEngine) AmendDocument(
	ctx context.Context,
	id string,
	tags []string,
	metadata map[string]any,
) (d KeptDocument, err error) {
	defer e.call.lendTurn()()
	keeper, writer, err := e.call.api.documentWriter(true)
	if err != nil {
		return d, err
	}
	there := false
	result, err := e.call.api.changeDocument(e.call, func(ctx context.Context) (r keeping.ChangeResult, err error) {
		r, there, err = keeper.Amend(ctx, id, tags, metadata)
		return r, err
	})
	if err != nil {
		return d, err
	}
	if !there {
		return d, unknownDocument(id)
	}
	return e.awaitDocument(ctx, writer, result)
}

// awaitDocument returns the document of a change that was stored with result r, once searches see the change. While it
// waits, other calls have its processor. It fails if the caller leaves, or the change is not visible in time.
func (e *admittedEngine) awaitDocument(
	ctx context.Context, writer *collectionWriter, r keeping.ChangeResult,
) (KeptDocument, error) {
	if r.Seq > 0 {
		e.call.api.admission.ReleaseWork(e.call.r.Context())
		control := http.NewResponseController(e.call.w)
		if err := e.call.api.awaitVisible(e.call.r, writer, r.Seq, control); err != nil {
			return KeptDocument{}, err
		}
	}
	return e.DocumentNamed(ctx, r.ID, false)
}

// DocumentNamed returns the latest stored version of a document, even if searches do not see it yet. text asks for its
// text too. It fails if there is no document with this id that the caller may see. The text is joined from the
// document's passages, which takes memory for each.
func (e *admittedEngine) DocumentNamed(ctx context.Context, id string, text bool) (d KeptDocument, err error) {
	defer e.call.lendTurn()()
	get, err := e.call.api.passageGetter(e.call, text) // two passages are small
	if err != nil {
		return d, err
	}
	var ok bool
	var all []corpus.Passage
	if text {
		d.Document, _, all, ok, err = keeping.Passages(ctx, get, id)
		ok = ok && (len(all) >= d.Passages || !identity.IsRestricted(e.call.r.Context()))
		if err == nil && ok {
			d.Text, err = joinDocument(all)
		}
	} else {
		d.Document, _, ok, err = keeping.Describe(ctx, get, id)
	}
	if err == nil && !ok {
		err = unknownDocument(id)
	}
	return d, err
}

// DropDocument deletes a document, and returns when searches no longer see it. there is false if there was none, which
// is no error. It fails if the deletion cannot be stored, the caller leaves, or searches do not see the deletion in
// time.
func (e *admittedEngine) DropDocument(ctx context.Context, id string) (there bool, err error) {
	defer e.call.lendTurn()()
	keeper, writer, err := e.call.api.documentWriter(false)
	if err != nil {
		return false, err
	}
	result, err := e.call.api.changeDocument(e.call, func(ctx context.Context) (keeping.ChangeResult, error) {
		return keeper.Delete(ctx, id, keeping.Condition{})
	})
	if err != nil || result.Outcome == store.Absent {
		return false, err
	}
	e.call.api.admission.ReleaseWork(e.call.r.Context())
	return true, e.call.api.awaitVisible(e.call.r, writer, result.Seq, http.NewResponseController(e.call.w))
}
