package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/wording"
)

// SimpleSearch is the operation whose parameters are the fields of a search's body:
// those that a query string can hold, and those of its filter.
const SimpleSearch = "searchSimply"

// QuestionParameter is what GET calls the question, short for typing.
const QuestionParameter = "q"

// filterLists are the parts of a filter that are parameters of their own.
var filterLists = []string{"tags_all", "tags_any", "documents"}

// ReadQuery returns the parameters of a query string as parsed JSON. It returns a problem if one is unknown, given
// twice, or has a value that the document does not allow. Lists are separated by commas.
func (o *Operation) ReadQuery(raw string) (map[string]any, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, NewProblem(
			"invalid_query",
			fmt.Sprintf(
				"The query string is malformed: %s. Write %% as %%25, & as %%26, + as %%2B and ; as %%3B.",
				Sentence(err.Error()),
			),
		).Because(err)
	}
	out, c := map[string]any{}, Checker{Most: MaxViolations}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		property, ok := o.parameters[name]
		wrong := func(code, detail, text string) error {
			return NewProblem(
				code, text,
				ProblemField{Pointer: wording.Pointer("", wording.Shorten(name)), Parameter: wording.Shorten(name), Detail: detail},
			)
		}
		switch {
		case !utf8.ValidString(name) || !utf8.ValidString(values[name][0]):
			return nil, NewProblem("invalid_utf8", "The query string has to be UTF-8, percent-encoded.")
		case !ok:
			given := "this path takes none"
			if len(o.parameters) > 0 {
				given = "the parameters are " + strings.Join(slices.Sorted(maps.Keys(o.parameters)), ", ")
			}
			if o.ID == SimpleSearch {
				given += ". POST takes weights too"
			}
			return nil, wrong(
				"unknown_parameter", "is not known",
				fmt.Sprintf("There is no parameter %s%s; %s.", wording.Quote(name), didYouMean(name, o.parameters), given),
			)
		case len(values[name]) > 1:
			return nil, wrong(
				"repeated_parameter",
				"is given more than once",
				fmt.Sprintf(
					"The parameter %s is given %d times; lists are separated by commas.", wording.Quote(name),
					len(values[name]),
				),
			)
		}
		out[name] = queryValue(property, values[name][0])
		if property.Content != nil { // JSON
			parsed, p := readJSONParameter(name, values[name][0])
			if p != nil {
				return nil, p
			}
			out[name] = parsed
			property = property.Content
		}
		if o.ID != SimpleSearch { // whose parameters are checked as the fields of a body
			out[name] = c.Check(property, out[name], wording.Pointer("", name))
		}
	}
	if p := c.Problem(); p != nil {
		return nil, AsParameters(p)
	}
	return out, nil
}

// queryValue returns a parameter's text as the type that the schema asks for, unchecked. A text that is not of that
// type stays a string, which the check then reports.
func queryValue(s *Schema, text string) any {
	switch s.Type {
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true"
		}
	case "integer", "number":
		if number := json.Number(text); json.Valid([]byte(text)) {
			if _, err := number.Float64(); err == nil {
				return number
			}
		}
	case "array", "": // or one of something, or a list of them
		if s.Type == "" && !strings.Contains(text, ",") {
			break
		}
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if text != "" {
				list = append(list, strings.TrimSpace(item))
			}
		}
		return list
	}
	return text
}

// AsParameters returns a copy of a problem of a search's body in which fields are named as query parameters.
func AsParameters(p *Problem) *Problem {
	q := *p
	q.Errors = slices.Clone(p.Errors)
	for i := range q.Errors {
		e := &q.Errors[i]
		before := e.Pointer
		if rest, ok := strings.CutPrefix(e.Pointer, "/question"); ok {
			e.Pointer = "/" + QuestionParameter + rest
		}
		if rest, ok := strings.CutPrefix(e.Pointer, "/filter/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); slices.Contains(filterLists, name) {
				e.Pointer = "/" + rest
			}
		}
		if e.Parameter == "" && e.Pointer != "" {
			e.Parameter, _, _ = strings.Cut(e.Pointer[1:], "/")
		}
		if rest, ok := strings.CutPrefix(q.Detail, before+" "); ok && before != "" {
			q.Detail = e.Parameter + " " + rest
			if inner, within := strings.CutPrefix(e.Pointer, "/"+FilterParameter+"/"); within {
				q.Detail = fmt.Sprintf("%s at /%s %s", FilterParameter, inner, rest)
			}
		}
	}
	return &q
}

// FilterParameter is the parameter of a query string that holds a condition as JSON.
const FilterParameter = "filter"

// readJSONParameter returns a parameter whose text is JSON, parsed, or the problem that it is not. One of both is nil.
func readJSONParameter(name, text string) (any, *Problem) {
	parsed, p := ParseJSON([]byte(text))
	if p == nil {
		return parsed, nil
	}
	field := ProblemField{Pointer: wording.Pointer("", name), Parameter: name, Detail: "is no JSON"}
	return nil, NewProblem("invalid_query", fmt.Sprintf(
		`The parameter %s has to be JSON, percent-encoded, such as {"field":"year","gte":2024}: %s`, name, p.Detail), field)
}
