package handlers

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
	"example.org/conclave/store"
)

// WriteResult is the answer to PUT and DELETE of a passage.
type WriteResult struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // "created", "replaced", "unchanged", "deleted"
	Version string `json:"version,omitempty"`
	ReadAs
}

// putPassage answers PUT /v1/passages/{id}: it stores the passage in the body under this id. It returns a problem if
// the passage is invalid or has another id, or a condition in the headers is not met.
func (a *API) putPassage(c *call) error {
	change := store.Change{Delete: c.name} // the id, also of a passage to put
	if p := readConditions(c.r, &change); p != nil {
		return p
	}
	writer, err := a.passageWriter()
	if err != nil {
		return err
	}
	raw, err := c.readBody(int64(a.options.Write.LineBytes))
	if err != nil {
		return err
	}
	if p := a.admission.TakeValueMemory(c.r.Context(), schema.CountValues(raw)); p != nil {
		return p
	}
	var passage corpus.Passage
	var p *schema.Problem
	if err := a.options.Admission.Work(c.r.Context(), front.CallerName(c.r),
		func() { passage, p = a.parsePassage(raw, keepAsWritten) }); err != nil {
		return err
	}
	if p != nil {
		return p
	}
	switch passage.ID {
	case "":
		passage.ID = c.name
	case c.name:
	default:
		return schema.NewProblem(
			"id_mismatch",
			fmt.Sprintf("The body's id is %s, and the path's is %s.", wording.Quote(passage.ID), wording.Quote(c.name)),
			schema.ProblemField{Pointer: "/id", Detail: "is not the path's; leave it out"},
		)
	}
	if p := passageProblem(&passage); p != nil {
		return p
	}
	change.Put = &passage
	return a.writeChange(c, writer, change)
}

// deletePassage answers DELETE /v1/passages/{id}. It returns a problem if there is no such passage, or a condition in
// the headers is not met.
func (a *API) deletePassage(c *call) error {
	change := store.Change{Delete: c.name}
	if p := readConditions(c.r, &change); p != nil {
		return p
	}
	writer, err := a.changeWriter()
	if err != nil {
		return err
	}
	return a.writeChange(c, writer, change)
}

// readConditions sets IfMatch and IfAbsent of change from If-Match and If-None-Match (RFC 9110, 13.1). It returns a
// problem if both are given, If-Match has several versions, or If-None-Match is anything but * with PUT.
func readConditions(r *http.Request, change *store.Change) *schema.Problem {
	match, none := etagsOf(r.Header.Values("If-Match")), etagsOf(r.Header.Values("If-None-Match"))
	match = slices.DeleteFunc(match, func(tag string) bool { return tag == "" })
	none = slices.DeleteFunc(none, func(tag string) bool { return tag == "" })
	switch {
	case len(match) > 0 && len(none) > 0:
		return schema.NewProblem(
			"impossible_condition",
			"If-Match asks for a passage that is there, and If-None-Match for none; send one of them.",
		)
	case len(none) > 0 && (len(none) > 1 || none[0] != "*" || r.Method == http.MethodDelete):
		return schema.NewProblem(
			"impossible_condition",
			"If-None-Match may be * alone, with PUT, to create a passage that is not there; send the version that you know as If-Match.",
		)
	case len(match) > 1:
		return schema.NewProblem("impossible_condition", "If-Match may name one version, or be *.")
	case len(match) == 1:
		// A weak tag matches nothing here, since If-Match compares strongly.
		change.IfMatch = match[0]
	}
	change.IfAbsent = len(none) > 0
	return nil
}

// writeChange makes one change and sends its result: 201 with Location if the passage is new, else 200. With
// refresh=wait in the query it first waits until searches see the change. The answer has the backlog, and an ETag with
// the version. It returns a problem if the change is refused or deletes a passage that does not exist; after a problem
// of the wait, the change is stored nevertheless.
func (a *API) writeChange(c *call, writer *collectionWriter, change store.Change) error {
	w, r := c.w, c.r
	control := http.NewResponseController(w)
	results, err := a.applyChanges(r.Context(), writer, []store.Change{change}, func() { a.extendWriting(control) })
	if err != nil {
		return err
	}
	result := results[0]
	if result.Err != nil {
		return refusedChange(result.Err)
	}
	if result.Outcome == store.Absent {
		return schema.NewProblem("unknown_passage", fmt.Sprintf("There is no passage %s.", wording.Quote(change.Delete)))
	}
	if c.query["refresh"] == "wait" {
		a.admission.ReleaseWork(r.Context()) // nobody computes meanwhile, and nothing of it is in memory
		if err := a.awaitVisible(r, writer, result.Seq, control); err != nil {
			return err
		}
	}
	front.ExchangeOf(r.Context()).Note(slog.String("outcome", string(result.Outcome)))
	h := w.Header()
	writer.noteBacklog(h)
	if result.Version != "" {
		h.Set("ETag", `"`+result.Version+`"`)
	}
	status := http.StatusOK
	if result.Outcome == store.Created {
		status = http.StatusCreated
		h.Set("Location", rootOf(r.Context())+passagePath(result.ID))
	}
	return c.respond(
		status,
		WriteResult{
			ID:      result.ID,
			Status:  string(result.Outcome),
			Version: result.Version,
			ReadAs:  a.describeReading(change.Put),
		},
	)
}

// passagePath returns the path of a passage. An id may hold anything but control
// characters.
func passagePath(id string) string { return "/passages/" + url.PathEscape(id) }

// storedPassage returns the passage that a call names, and its version: the last acknowledged one if the server writes,
// else the one that searches see. It returns a problem if there is none that the caller may see. It waits for memory
// for the passage.
func (a *API) storedPassage(c *call) (corpus.Passage, string, error) {
	if writer := a.writing.Load(); writer != nil {
		ctx := c.r.Context()
		take := a.admission.AnswerMemoryOf(c.r)
		passage, version, ok, err := writer.Passage(
			ctx, c.name, func(bytes int) error { return take(ctx, lookup.PassageRoom(bytes)) },
		)
		if err == nil && ok {
			ok, err = c.maySee(&passage)
		}
		if err == nil && !ok {
			detail := fmt.Sprintf("There is no passage %s.", wording.Quote(c.name))
			return corpus.Passage{}, "", schema.NewProblem("unknown_passage", detail)
		}
		return passage, version, err
	}
	engine, err := c.admittedEngine()
	if err != nil {
		return corpus.Passage{}, "", err
	}
	return engine.Passage(c.r.Context(), search.Caller{}, c.name)
}
