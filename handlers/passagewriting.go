package handlers

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"conclave/collection"
	"conclave/corpus"
)

// WriteResult is the answer to PUT and DELETE of a passage.
type WriteResult struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // "created", "replaced", "unchanged", "deleted"
	Version string `json:"version,omitempty"`
}

// putPassage answers PUT /v1/passages/{id}.
func (a *API) putPassage(w http.ResponseWriter, r *http.Request) error {
	change, options, err := a.changeOf(r)
	if err != nil {
		return err
	}
	writer, err := a.passageWriter()
	if err != nil {
		return err
	}
	raw, err := a.readBody(w, r, int64(a.writeLimits.LineBytes))
	if err != nil {
		return err
	}
	if p := a.hold(r.Context(), 1); p != nil {
		return p
	}
	passage, p := a.parsePassage(raw, asItIs)
	if p != nil {
		return p
	}
	switch passage.ID {
	case "":
		passage.ID = change.Delete
	case change.Delete:
	default:
		return newProblem("id_mismatch", fmt.Sprintf("The body's id is %s, and the path's is %s.", quoted(passage.ID), quoted(change.Delete)),
			ProblemField{Pointer: "/id", Detail: "is not the path's; leave it out"})
	}
	if p := passageProblem(&passage); p != nil {
		return p
	}
	change.Put = &passage
	return a.write(w, r, writer, change, options)
}

// deletePassage answers DELETE /v1/passages/{id}.
func (a *API) deletePassage(w http.ResponseWriter, r *http.Request) error {
	change, options, err := a.changeOf(r)
	if err != nil {
		return err
	}
	writer, err := a.writer()
	if err != nil {
		return err
	}
	return a.write(w, r, writer, change, options)
}

// changeOf is what path, query string and header say of a change: Delete is
// the id, also of a passage to put.
func (a *API) changeOf(r *http.Request) (change collection.Change, options writeOptions, err error) {
	options, p := readWriteOptions(r, false)
	if p != nil {
		return change, options, p
	}
	if change.Delete, p = lastOf(r, "/v1/passages/"); p != nil {
		return change, options, p
	}
	if p := readConditions(r, &change); p != nil {
		return change, options, p
	}
	return change, options, nil
}

// readConditions reads If-Match and If-None-Match (RFC 9110, 13.1). Of the
// latter only * has a use: that the passage be new.
func readConditions(r *http.Request, change *collection.Change) *Problem {
	match, none := etagsOf(r.Header.Values("If-Match")), etagsOf(r.Header.Values("If-None-Match"))
	match = slices.DeleteFunc(match, func(tag string) bool { return tag == "" })
	none = slices.DeleteFunc(none, func(tag string) bool { return tag == "" })
	switch {
	case len(match) > 0 && len(none) > 0:
		return newProblem("impossible_condition", "If-Match asks for a passage that is there, and If-None-Match for none; send one of them.")
	case len(none) > 0 && (len(none) > 1 || none[0] != "*" || r.Method == http.MethodDelete):
		return newProblem("impossible_condition", "If-None-Match may be * alone, with PUT, to create a passage that is not there; send the version that you know as If-Match.")
	case len(match) > 1:
		return newProblem("impossible_condition", "If-Match may name one version, or be *.")
	case len(match) == 1:
		// A weak tag matches nothing here, since If-Match compares strongly.
		change.IfMatch = match[0]
	}
	change.IfAbsent = len(none) > 0
	return nil
}

// write makes one change and answers.
func (a *API) write(w http.ResponseWriter, r *http.Request, writer *writing, change collection.Change, options writeOptions) error {
	control := http.NewResponseController(w)
	results, err := a.apply(r.Context(), writer, []collection.Change{change}, func() { a.extendWriting(control) })
	if err != nil {
		return err
	}
	result := results[0]
	if result.Err != nil {
		return refusedChange(result.Err)
	}
	if result.Outcome == collection.Absent {
		return newProblem("unknown_passage", fmt.Sprintf("There is no passage %s.", quoted(change.Delete)))
	}
	if options.wait {
		if err := a.awaitVisible(r, writer, result.Seq, control); err != nil {
			return err
		}
	}
	exchangeOf(r.Context()).note(slog.String("outcome", string(result.Outcome)))
	h := w.Header()
	writer.noteBacklog(h)
	if result.Version != "" {
		h.Set("ETag", `"`+result.Version+`"`)
	}
	status := http.StatusOK
	if result.Outcome == collection.Created {
		status = http.StatusCreated
		h.Set("Location", passagePath(result.ID))
	}
	return respondWith(w, status, WriteResult{ID: result.ID, Status: string(result.Outcome), Version: result.Version})
}

// passagePath is the path of a passage. An id may hold anything but control
// characters.
func passagePath(id string) string { return "/v1/passages/" + url.PathEscape(id) }

// stored reads a passage as it was acknowledged last where the server writes,
// and as searches see it where it only reads.
func (a *API) stored(r *http.Request, id string) (corpus.Passage, string, error) {
	if writer := a.writing.Load(); writer != nil {
		passage, version, ok, err := writer.Passage(id)
		if err == nil && !ok {
			return passage, "", newProblem("unknown_passage", fmt.Sprintf("There is no passage %s.", quoted(id)))
		}
		return passage, version, err
	}
	engine, err := a.loaded(r)
	if err != nil {
		return corpus.Passage{}, "", err
	}
	return engine.Passage(id)
}

// queryValues reads a query string in which no name comes twice.
func queryValues(raw string) (map[string]string, *Problem) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, newProblem("invalid_query", fmt.Sprintf("The query string is malformed: %s.", strings.TrimSuffix(sentence(err.Error()), "."))).because(err)
	}
	out := map[string]string{}
	for name, list := range values {
		if len(list) > 1 {
			return nil, newProblem("repeated_parameter", fmt.Sprintf("The parameter %s is given %d times.", quoted(name), len(list)),
				ProblemField{Pointer: "/" + escapePointer(shorten(name)), Parameter: shorten(name), Detail: "is given more than once"})
		}
		out[name] = list[0]
	}
	return out, nil
}
