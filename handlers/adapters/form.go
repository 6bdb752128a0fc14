package adapters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// responseFormat is the format that an answer must have. Chat completions have the schema in a field of its own,
// responses beside the type.
type responseFormat struct {
	Type        string       `json:"type"`
	JSONSchema  *namedSchema `json:"json_schema"`
	namedSchema `json:",inline"`
}

// namedSchema is a JSON schema with a name.
type namedSchema struct {
	Name        *string        `json:"name,omitempty"`
	Description *string        `json:"description,omitempty"`
	Schema      map[string]any `json:"schema,omitempty"`
	Strict      *bool          `json:"strict,omitempty"`
}

// Values of responseFormat.Type.
const (
	formatText   = "text"
	formatJSON   = "json_object"
	formatSchema = "json_schema"
)

// jsonForm is the requirement that an answer be a JSON object with certain fields.
type jsonForm struct {
	format   []byte   // OpenAI's response_format
	required []string // fields that the object has to have
}

// formOf returns the form that a format asks for; nil if that is text. name is the format's field in the request. It
// returns a problem if the type is unknown, or the schema is not that of an object. Only its required fields are
// enforced here; the rest is left to the model's server.
func formOf(format *responseFormat, name string) (*jsonForm, error) {
	if format == nil || format.Type == formatText {
		return nil, nil
	}
	refused := func(reason string, arguments ...any) error {
		return fieldError("unknown_value", "/"+strings.ReplaceAll(name, ".", "/"), name+" "+reason, arguments...)
	}
	switch format.Type {
	case formatJSON:
		return &jsonForm{format: []byte(`{"type":"json_object"}`)}, nil
	case formatSchema:
	default:
		return nil, refused("has the type %.32q: there are text, json_object and json_schema", format.Type)
	}
	named := format.namedSchema
	if format.JSONSchema != nil {
		named = *format.JSONSchema
	}
	if named.Schema["type"] != "object" {
		return nil, refused("needs a schema of an object")
	}
	var required []string
	names, _ := named.Schema["required"].([]any)
	for _, name := range names {
		if name, ok := name.(string); ok {
			required = append(required, name)
		}
	}
	whole, err := json.Marshal(map[string]any{"type": formatSchema, "json_schema": named})
	return &jsonForm{format: whole, required: required}, err
}

// checkText returns an error if a text is not a JSON object or lacks a required field.
func (f *jsonForm) checkText(text string) error {
	var object map[string]jsontext.Value
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return errors.New("it is no JSON object")
	}
	for _, name := range f.required {
		if _, ok := object[name]; !ok {
			return fmt.Errorf("it has no field %.100q", name)
		}
	}
	return nil
}

// writerOfForms returns the name of the generator that writes an answer as JSON: the one named, or the first if named
// is chatModel. Only a generator that is reached over an API (TimeoutMS above 0) can; without such a one it returns "".
func writerOfForms(writers []learned.ReaderInfo, named string) string {
	at := slices.IndexFunc(writers, func(x learned.ReaderInfo) bool {
		return x.TimeoutMS > 0 && (named == chatModel || x.Name == named)
	})
	if at < 0 {
		return ""
	}
	return writers[at].Name
}

// answerInForm lets a generator write the answer as JSON into a.text. If it does not, a.refusal says why. The sources
// are listed in the notes, since JSON has no place for them. It fails if the search does.
func (a *chatAnswer) answerInForm(
	ctx context.Context,
	e handlers.Engine,
	request search.Request,
) (reply.Response, error) {
	request.Answer.Form = a.form.format
	r, err := e.Search(ctx, search.Caller{}, request)
	if err != nil {
		return r, err
	}
	g := r.Generated
	switch {
	case isUnanswered(r) || g != nil && g.Refused:
		a.refusal = fmt.Sprintf(a.say.notFound, a.collection)
		return r, nil
	case g == nil:
		a.refusal = "The model wrote no answer; notes say why."
		return r, nil
	}
	if err := a.form.checkText(g.Text); err != nil {
		a.refusal = fmt.Sprintf("The model %s did not write what response_format asks for: %v.", g.Reader, err)
		return r, nil
	}
	a.appendText("%s", g.Text)
	a.body = a.text.Len()
	for i, x := range r.Results[:min(len(r.Results), chatPassages)] {
		a.notes = append(a.notes, fmt.Sprintf("passage %d: %s, %s", i+1, titleOf(x.Title, x.ID),
			a.base.addressOf(x.Collection, x.ID, x.Metadata, x.Place)))
	}
	return r, a.failed
}
