package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schema is huma's JSON Schema.
type schema = huma.Schema

// questionParameter is what GET calls the question, short for typing.
const questionParameter = "q"

// filterField is the field of POST whose own fields are parameters of GET.
const filterField = "filter"

// filterFields are the lists of a filter.
func filterFields(registry huma.Registry, s *schema) map[string]*schema {
	filter := s.Properties[filterField]
	for filter.Ref != "" {
		filter = registry.SchemaFromRef(filter.Ref)
	}
	return filter.Properties
}

// queryParameters lists the parameters of GET /v1/search: the fields of POST
// that a query string can hold (scalars, and lists of words between commas),
// with "q" for the question, and the fields of the filter.
func queryParameters(registry huma.Registry, s *schema) map[string]*schema {
	out := map[string]*schema{}
	for name, property := range s.Properties {
		for property.Ref != "" {
			property = registry.SchemaFromRef(property.Ref)
		}
		if property.Type == huma.TypeObject {
			continue
		}
		if name == "question" {
			name = questionParameter
		}
		out[name] = property
	}
	maps.Copy(out, filterFields(registry, s))
	return out
}

// queryBody reads a query string as if it were the body of POST. Parameters
// that nobody knows or that are given twice are refused, like keys in JSON.
func queryBody(registry huma.Registry, s *schema, raw string) (map[string]any, *Problem) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, newProblem("invalid_query", fmt.Sprintf("The query string is malformed: %s. Write %% as %%25, & as %%26, + as %%2B and ; as %%3B.", sentence(err.Error()))).because(err)
	}
	known := queryParameters(registry, s)
	body := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parameter := ProblemField{Pointer: "/" + escapePointer(shorten(name)), Parameter: shorten(name)}
		property, ok := known[name]
		switch {
		case invalidUTF8([]byte(name)) >= 0 || invalidUTF8([]byte(values[name][0])) >= 0:
			return nil, newProblem("invalid_utf8", "The query string has to be UTF-8, percent-encoded.")
		case !ok:
			parameter.Detail = "is not known"
			detail := fmt.Sprintf("There is no parameter %s%s; the parameters are %s.", quoted(name), orParameter(name, known), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			if _, more := s.Properties["weights"]; more {
				detail += " POST takes weights too."
			}
			return nil, newProblem("unknown_parameter", detail, parameter)
		case len(values[name]) > 1:
			parameter.Detail = "is given more than once"
			return nil, newProblem("repeated_parameter", fmt.Sprintf("The parameter %s is given %d times; lists are separated by commas.", quoted(name), len(values[name])), parameter)
		}
		field := name
		if name == questionParameter {
			field = "question"
		}
		into := body
		if _, ok := filterFields(registry, s)[name]; ok {
			if body[filterField] == nil {
				body[filterField] = map[string]any{}
			}
			into = body[filterField].(map[string]any)
		}
		into[field] = queryValue(property, values[name][0])
	}
	return body, nil
}

// orParameter is didYouMean for a query string, where the question is "q".
func orParameter(name string, known map[string]*schema) string {
	if _, asks := known[questionParameter]; asks && (name == "question" || synonyms()[name] == "question") {
		return fmt.Sprintf(" (did you mean %q?)", questionParameter)
	}
	return didYouMean(name, known)
}

// queryValue gives text the type that the schema asks for. Text that has no
// such form stays text, and the schema's check says what it should be.
func queryValue(s *schema, text string) any {
	switch s.Type {
	case huma.TypeBoolean:
		switch text {
		case "true":
			return true
		case "false":
			return false
		}
	case huma.TypeInteger, huma.TypeNumber:
		if number := json.Number(text); json.Valid([]byte(text)) {
			if _, err := number.Float64(); err == nil {
				return number
			}
		}
	case huma.TypeArray:
		return commaList(text)
	case "": // one, or a list of them
		if strings.Contains(text, ",") {
			return commaList(text)
		}
	}
	return text
}

// commaList splits at commas; the empty text is the empty list.
func commaList(text string) []any {
	out := []any{}
	if text == "" {
		return out
	}
	for item := range strings.SplitSeq(text, ",") {
		out = append(out, strings.TrimSpace(item))
	}
	return out
}

// asParameters makes a problem name query parameters where it points into a
// body.
func asParameters(p *Problem) *Problem {
	q := *p
	q.Errors = slices.Clone(p.Errors)
	for i := range q.Errors {
		e := &q.Errors[i]
		before := e.Pointer
		if rest, ok := strings.CutPrefix(e.Pointer, "/question"); ok {
			e.Pointer = "/" + questionParameter + rest
		}
		if rest, ok := strings.CutPrefix(e.Pointer, "/"+filterField+"/"); ok {
			e.Pointer = "/" + rest
		}
		if e.Parameter == "" && e.Pointer != "" {
			e.Parameter, _, _ = strings.Cut(e.Pointer[1:], "/")
		}
		if rest, ok := strings.CutPrefix(q.Detail, before+" "); ok && before != "" {
			q.Detail = e.Parameter + " " + rest
		}
	}
	return &q
}
