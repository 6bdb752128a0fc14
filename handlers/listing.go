package handlers

import (
	"fmt"
	"net/http"
	"strconv"

	"conclave/corpus"
)

// PassageList is the answer of GET /v1/passages.
type PassageList struct {
	Passages []corpus.Passage `json:"passages"`
	Next     string           `json:"next,omitempty"`
}

// listLimit is how many passages are listed when nobody says.
const listLimit = 100

// getPassages answers GET /v1/passages.
func (a *API) getPassages(w http.ResponseWriter, r *http.Request) error {
	engine, err := a.loaded(r)
	if err != nil {
		return err
	}
	values, p := queryValues(r.URL.RawQuery)
	if p != nil {
		return p
	}
	limit, most := listLimit, engine.Limits().K
	limit = min(limit, most)
	for name, value := range values {
		field := ProblemField{Pointer: "/" + escapePointer(shorten(name)), Parameter: shorten(name)}
		switch name {
		case "after":
			if invalidUTF8([]byte(value)) >= 0 {
				return newProblem("invalid_utf8", "The query string has to be UTF-8, percent-encoded.")
			}
		case "limit":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > most {
				field.Detail = fmt.Sprintf("has to be from 1 to %d", most)
				return newProblem("out_of_range", fmt.Sprintf("limit is %s; it has to be from 1 to %d.", quoted(value), most), field)
			}
			limit = n
		default:
			field.Detail = "is not known"
			return newProblem("unknown_parameter", fmt.Sprintf("There is no parameter %s here; there are after and limit.", quoted(name)), field)
		}
	}
	passages, more, err := engine.List(values["after"], limit)
	if err != nil {
		return err
	}
	list := PassageList{Passages: passages}
	if more {
		list.Next = passages[len(passages)-1].ID
	}
	return respond(w, list)
}
