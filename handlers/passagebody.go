package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"conclave/corpus"
)

// passageBody is corpus.Passage with what the document says of it: the body of
// PUT, and one line of a bulk upload.
type passageBody struct {
	ID       string         `json:"id,omitempty" doc:"The passage's id, at most 512 bytes. In a line of an upload it is needed; in PUT it may be left out, since the path has it." example:"wiki/42"`
	Title    string         `json:"title,omitempty" doc:"Its title." example:"Bees"`
	Text     string         `json:"text" doc:"Its text, usually 40 to 200 words. At most limits.passage_bytes; an expert reads its first max_tokens.passage tokens." example:"Bees find their way back to the hive by the sun and by landmarks."`
	Tags     []string       `json:"tags,omitempty" doc:"Words to filter by. At most limits.tags."`
	Metadata map[string]any `json:"metadata,omitempty" doc:"A flat object of strings, numbers and booleans, which comes back as it was. At most limits.metadata_bytes."`
}

// parsePassage reads one passage as JSON, strictly: the body of PUT, or a line.
// Beside a problem there is the id, where the text tells it. also may put the
// object in order before.
func (a *API) parsePassage(text []byte, also func(object map[string]any) *Problem) (corpus.Passage, *Problem) {
	body, p := parseJSON(text)
	if p != nil {
		return corpus.Passage{}, p
	}
	if object, ok := body.(map[string]any); ok {
		if p := also(object); p != nil {
			return corpus.Passage{}, p
		}
	}
	registry := a.document.Components.Schemas
	c := conform{registry: registry}
	c.check(registry.SchemaFromRef(schemaRef("PassageRequest")), body, "")
	var out corpus.Passage
	object, _ := body.(map[string]any)
	out.ID, _ = object["id"].(string)
	if p := c.problem(); p != nil {
		return out, p
	}
	// The schema has made sure of the types.
	out.Title, _ = object["title"].(string)
	out.Text, _ = object["text"].(string)
	tags, _ := object["tags"].([]any)
	for _, tag := range tags {
		text, _ := tag.(string)
		out.Tags = append(out.Tags, text)
	}
	if metadata, ok := object["metadata"].(map[string]any); ok && len(metadata) > 0 {
		out.Metadata = metadata
	}
	return out, a.withinLimits(&out)
}

// withinLimits compares a passage with the configured limits. Those of the
// format come after, in passageProblem.
func (a *API) withinLimits(p *corpus.Passage) *Problem {
	limits := a.writeLimits
	if n := len(p.Text); n > limits.PassageBytes {
		return newProblem("too_long", fmt.Sprintf("The text has %d bytes; at most %d are allowed. Split it into passages: an expert reads the first few hundred words.", n, limits.PassageBytes),
			ProblemField{Pointer: "/text", Detail: fmt.Sprintf("has %d bytes", n)})
	}
	if n := len(p.Tags); n > limits.Tags {
		return newProblem("out_of_range", fmt.Sprintf("There are %d tags; at most %d are allowed.", n, limits.Tags),
			ProblemField{Pointer: "/tags", Detail: fmt.Sprintf("has %d items", n)})
	}
	if len(p.Metadata) == 0 {
		return nil
	}
	metadata, err := json.Marshal(p.Metadata)
	if err != nil { // it came from JSON
		return newProblem("internal", "The metadata could not be read.").because(err)
	}
	if n := len(metadata); n > limits.MetadataBytes {
		return newProblem("too_long", fmt.Sprintf("The metadata has %d bytes; at most %d are allowed.", n, limits.MetadataBytes),
			ProblemField{Pointer: "/metadata", Detail: fmt.Sprintf("has %d bytes", n)})
	}
	return nil
}

// passageProblem is what keeps a passage from being stored, or nil.
func passageProblem(p *corpus.Passage) *Problem {
	err := p.Check()
	var field *corpus.FieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &field):
		return invalidPassage(field)
	}
	return newProblem("invalid_passage", sentence(err.Error()))
}

// invalidPassage makes a problem of what the corpus says of a field.
func invalidPassage(e *corpus.FieldError) *Problem {
	pointer := ""
	if e.Field != "" {
		name, inner, nested := strings.Cut(e.Field, ".")
		name, index, item := strings.Cut(name, "[") // tags[3]
		pointer = "/" + escapePointer(name)
		switch {
		case item:
			pointer += "/" + strings.TrimSuffix(index, "]")
		case nested: // metadata.year
			pointer += "/" + escapePointer(shorten(inner))
		}
	}
	detail := e.Problem
	if e.Value != "" {
		detail = fmt.Sprintf("(%s) %s", e.Value, e.Problem)
	}
	return newProblem("invalid_passage", strings.TrimSpace(pointer+" "+detail)+".", ProblemField{Pointer: pointer, Detail: detail})
}
