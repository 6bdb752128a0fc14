package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
)

// DocumentList is the answer of GET /v1/documents.
type DocumentList struct {
	Documents []corpus.Document `json:"documents"`
	Next      string            `json:"next,omitempty"`
}

// DocumentAnswer is the answer of GET /v1/documents/{id}.
type DocumentAnswer struct {
	corpus.Document
	Version string `json:"version"`
	// The text as it was read, where it was asked for.
	Text string `json:"text,omitempty"`
	// All passages, where they were asked for.
	PassageList []PlacedPassage `json:"passage_list,omitempty"`
}

// getDocuments answers GET /v1/documents with a page of the documents that the caller may see, by id. The query's
// prefix, q and filter select among them. It returns a problem if the query is invalid, or the collection is not loaded
// or cannot be read.
func (a *API) getDocuments(c *call) error {
	engine, err := c.admittedEngine()
	if err != nil {
		return err
	}
	limit, err := c.listLimit(listLimit, engine.Limits().K)
	if err != nil {
		return err
	}
	text := func(name string) string { s, _ := c.query[name].(string); return s }
	ctx, err := c.restrictToQuery(engine)
	if err != nil {
		return err
	}
	found, next, err := engine.Documents(ctx, search.Caller{}, lookup.DocumentsRequest{
		After: text("after"), Prefix: text("prefix"), Match: text("q"), Limit: limit,
	})
	if err != nil {
		return err
	}
	if found == nil {
		found = []corpus.Document{}
	}
	return c.respond(http.StatusOK, DocumentList{Documents: found, Next: next})
}

// getDocument answers GET /v1/documents/{id} with a document and, if the query asks for them, its text and its
// passages; with 304 if the client has this version (If-None-Match). To a caller who may not see all passages of a
// document it is unknown if its text or passages are asked for. It returns a problem if there is no document with this
// id, it is being replaced, or it cannot be read.
func (a *API) getDocument(c *call) error {
	get, err := a.passageGetter(c, true)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	withText, withPassages := c.query["text"] == true, c.query["passages"] == true
	var out DocumentAnswer
	var ok bool
	var all []corpus.Passage
	if withText || withPassages {
		out.Document, out.Version, all, ok, err = keeping.Passages(ctx, get, c.name)
	} else {
		out.Document, out.Version, ok, err = keeping.Describe(ctx, get, c.name)
	}
	switch {
	case errors.Is(err, keeping.ErrChanging):
		return schema.NewProblem("unavailable", schema.Sentence(err.Error()))
	case err != nil:
		return err
	case !ok, all != nil && len(all) < out.Passages && identity.IsRestricted(ctx): // a part that may not be seen
		return unknownDocument(c.name)
	}
	h := c.w.Header()
	h.Set("ETag", `"`+out.Version+`"`)
	h.Set("Cache-Control", "private, no-cache")
	if matchesVersion(c.r.Header.Values("If-None-Match"), out.Version) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if withPassages {
		out.PassageList = placePassages(all)
	}
	if withText {
		out.Text, err = joinDocument(all)
		if err != nil {
			return err
		}
	}
	return c.respond(http.StatusOK, out)
}

// joinDocument returns the text of a document, put together from its passages. It returns a problem if they do not fit
// together.
func joinDocument(passages []corpus.Passage) (string, error) {
	text, err := corpus.JoinDocument(passages)
	if err != nil {
		return "", schema.NewProblem("unavailable", "The document's text cannot be put together: "+err.Error()).Because(err)
	}
	return text, nil
}

// unknownDocument returns the problem of an id that no document has (404).
func unknownDocument(id string) *schema.Problem {
	return schema.NewProblem("unknown_document", fmt.Sprintf("There is no document %s.", wording.Quote(id)))
}

// passageGetter returns a function that reads a passage by id: its last acknowledged version if the server writes, else
// the one that searches see. With room, each read first takes memory for the passage. The function's ok is false if
// there is no such passage or the caller may not see it. It returns a problem if the collection is not loaded.
func (a *API) passageGetter(c *call, room bool) (keeping.Get, error) {
	take := a.admission.AnswerMemoryOf(c.r)
	if !room {
		take = func(context.Context, int) error { return nil }
	}
	if writer := a.writing.Load(); writer != nil {
		return func(ctx context.Context, id string) (corpus.Passage, string, bool, error) {
			p, version, ok, err := writer.Passage(
				ctx, id, func(bytes int) error { return take(ctx, lookup.PassageRoom(bytes)) },
			)
			if ok && err == nil {
				ok, err = c.maySee(&p)
			}
			return p, version, ok, err
		}, nil
	}
	engine, err := c.admittedEngine()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, id string) (corpus.Passage, string, bool, error) {
		p, version, err := engine.Passage(ctx, search.Caller{}, id)
		var refused *fault.Error
		if errors.As(err, &refused) && refused.Kind == fault.NotFound {
			return p, "", false, nil
		}
		return p, version, err == nil, err
	}, nil
}

// maySee reports whether the call's key may see a passage. It fails only for a key with a filter, if the collection is
// not loaded yet.
func (c *call) maySee(p *corpus.Passage) (bool, error) {
	if !identity.IsRestricted(c.r.Context()) {
		return true, nil
	}
	engine, err := c.admittedEngine()
	if err != nil {
		return false, err
	}
	return engine.Visible(c.r.Context(), p), nil
}

// listLimit returns the query's parameter limit, or usual without one, but at most most. It returns a problem if
// limit is not from 1 to most.
func (c *call) listLimit(usual, most int) (int, error) {
	given, ok := c.query["limit"].(json.Number)
	if !ok {
		return min(usual, most), nil
	}
	n, err := given.Int64()
	if err != nil || n < 1 || n > int64(most) {
		detail := fmt.Sprintf("has to be from 1 to %d", most)
		return 0, schema.NewProblem(
			"out_of_range", fmt.Sprintf("limit is %s; it %s.", given, detail),
			schema.ProblemField{Pointer: "/limit", Parameter: "limit", Detail: detail},
		)
	}
	return int(n), nil
}

// documentPath returns the path of a document.
func documentPath(id string) string { return "/documents/" + url.PathEscape(id) }
