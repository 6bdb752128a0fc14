package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// parsePassage returns the passage in a JSON text, which may have no unknown fields; fields that are null count as
// absent. also may change the parsed object before it is checked; its problem is returned. With a problem, out.ID is
// set if the text contained one.
func (a *API) parsePassage(
	text []byte,
	also func(object map[string]any) *schema.Problem,
) (out corpus.Passage, p *schema.Problem) {
	body, p := schema.ParseJSON(text)
	if p != nil {
		return out, p
	}
	object, _ := body.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	for _, values := range []map[string]any{object, metadata} {
		maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil }) // as good as absent
	}
	dropPlaceFields(object, metadata)
	if object != nil {
		if p := also(object); p != nil {
			return out, p
		}
	}
	c := schema.Checker{Most: schema.MaxViolations}
	c.Check(schema.APIDocument().Schemas["PassageRequest"], body, "")
	out.ID, _ = object["id"].(string)
	if p := c.Problem(); p != nil {
		return out, p
	}
	// The schema has made sure of the types.
	out.Title, _ = object["title"].(string)
	passageText, given := object["text"].(string)
	out.Text = passageText
	if !given && strings.TrimSpace(out.Title) == "" {
		return out, missingText()
	}
	out.Tags = stringsOf(object["tags"])
	if len(metadata) > 0 {
		out.Metadata = metadata
	}
	return out, a.checkLimits(&out)
}

// missingText returns the problem of a passage without a text (400).
func missingText() *schema.Problem {
	return schema.NewProblem(
		"missing_field", "/text is missing.", schema.ProblemField{Pointer: "/text", Detail: "is missing"},
	)
}

// stringsOf returns the strings of a parsed JSON list; nil if it is not a list. An element that is not a string becomes
// "".
func stringsOf(list any) (out []string) {
	items, _ := list.([]any)
	for _, item := range items {
		text, _ := item.(string)
		out = append(out, text)
	}
	return out
}

// checkLimits returns a problem if the passage's text, tags or metadata exceed the configured WriteLimits; else nil.
func (a *API) checkLimits(p *corpus.Passage) *schema.Problem {
	metadata := []byte(nil)
	if len(p.Metadata) > 0 {
		var err error
		metadata, err = json.Marshal(p.Metadata)
		if err != nil { // it came from JSON
			return schema.NewProblem("internal", "The metadata could not be read.").Because(err)
		}
	}
	l := a.options.Write
	for _, bound := range []struct {
		n, most                   int
		code, field, unit, advice string
	}{
		{len(p.Text), l.PassageBytes, "too_long", "text", "bytes", " Split it into passages: an expert reads the first few hundred words."},
		{len(p.Tags), l.Tags, "out_of_range", "tags", "items", ""},
		{len(metadata), l.MetadataBytes, "too_long", "metadata", "bytes", ""},
	} {
		if bound.n > bound.most {
			return schema.NewProblem(
				bound.code,
				fmt.Sprintf(
					"/%s has %d %s; at most %d are allowed.%s", bound.field, bound.n, bound.unit, bound.most,
					bound.advice,
				),
				schema.ProblemField{Pointer: "/" + bound.field, Detail: fmt.Sprintf("has %d %s", bound.n, bound.unit)},
			)
		}
	}
	return nil
}

// passageProblem returns a problem if a collection cannot store the passage, for example because of its id; else nil.
func passageProblem(p *corpus.Passage) *schema.Problem {
	err := p.Check()
	var field *corpus.FieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &field):
		return invalidPassage(field)
	}
	return schema.NewProblem("invalid_passage", schema.Sentence(err.Error()))
}

// invalidPassage returns the problem for an invalid field of a passage. The problem names the field by its JSON
// pointer, such as /tags/3 or /metadata/year.
func invalidPassage(e *corpus.FieldError) *schema.Problem {
	pointer := ""
	if e.Field != "" {
		name, inner, nested := strings.Cut(e.Field, ".")
		name, index, item := strings.Cut(name, "[") // tags[3]
		pointer = wording.Pointer("", name)
		switch {
		case item:
			pointer += "/" + strings.TrimSuffix(index, "]")
		case nested: // metadata.year
			pointer = wording.Pointer(pointer, wording.Shorten(inner))
		}
	}
	detail := e.Problem
	if e.Value != "" {
		detail = fmt.Sprintf("(%s) %s", e.Value, e.Problem)
	}
	return schema.NewProblem(
		"invalid_passage", strings.TrimSpace(pointer+" "+detail)+".",
		schema.ProblemField{Pointer: pointer, Detail: detail},
	)
}
