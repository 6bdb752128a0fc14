// Package adapters serves chatbots and other programs that speak an interface of their
// own: the Model Context Protocol (mcp*.go), OpenAI's embeddings and vector stores,
// Text Embeddings Inference and Cohere (rerank.go), and Dify's external knowledge. Each
// turns a request into one for the engine and the answer into the shape that the caller
// knows; none searches itself. docs/chatbots.md shows how each is used.
package adapters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// All returns the adapters of all other APIs that a server speaks, such as MCP and OpenAI's.
func All() []handlers.Adapter {
	var all []handlers.Adapter
	totals := &countedFiles{of: map[countedCollection]countedGeneration{}}
	for _, some := range [][]handlers.Adapter{
		modelContext(), openAI(), chat(), stores(totals), storeFiles(totals), rerankers(), dify(),
	} {
		all = append(all, some...)
	}
	return all
}

// serve makes a route of a function from a request's body to an answer's. An option
// that conclave does not support is an error, so that nobody believes that it had an
// effect.
func serve[In, Out any](
	do func(ctx context.Context, e handlers.Engine, in In) (Out, error),
) func(*http.Request, handlers.Admitted) (handlers.Answer, error) {
	return func(r *http.Request, e handlers.Admitted) (answer handlers.Answer, err error) {
		in, err := readInto[In](r)
		if err != nil {
			return answer, err
		}
		answer.Value, err = do(r.Context(), e, in)
		return answer, err
	}
}

// readInto returns what a request's body says, of which every field has to be known.
func readInto[In any](r *http.Request) (in In, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil {
		return in, mistake(body, err)
	}
	return in, nil
}

// mistake describes what is wrong with a body.
func mistake(body []byte, err error) error {
	var own *fault.Error
	var at *json.SemanticError
	pointer, name := "", ""
	if errors.As(err, &at) {
		pointer = string(at.JSONPointer)
		name = strings.TrimPrefix(pointer, "/")
	}
	switch {
	case errors.As(err, &own):
		return invalid(own.Code, pointer, "%s %s", name, own.Detail)
	case len(body) == 0:
		return invalid("not_json", "", "the body is empty: it has to be a JSON object")
	case errors.Is(err, json.ErrUnknownName):
		return invalid("unknown_field", pointer, "%s is not supported here: leave it out", name)
	case pointer != "" && at.JSONKind != jsontext.KindInvalid:
		return invalid(
			"wrong_type",
			pointer,
			"%s is of another type than it has to be: a %s is no %s",
			name,
			at.JSONKind,
			at.GoType,
		)
	}
	return invalid("not_json", "", "the body is not the JSON that is taken here: %v", err)
}

// invalid returns an error that names a part of the request.
func invalid(code, pointer, format string, args ...any) error {
	e := &fault.Error{Kind: fault.Invalid, Code: code, Detail: fmt.Sprintf(format, args...)}
	if pointer != "" {
		e.Fields = []fault.FieldError{{Pointer: pointer, Detail: e.Detail}}
	}
	return e
}

// collectionInPath returns the collection that a path names.
func collectionInPath(r *http.Request, _ []byte) (collections []string, needed bool) {
	if name := r.PathValue("collection"); name != "" {
		return []string{name}, true
	}
	return nil, true // as of /v1/files
}

// collectionOf returns the name of the collection that is asked.
func collectionOf(e handlers.Engine) string {
	if named, ok := e.(interface{ Collection() string }); ok {
		return named.Collection()
	}
	return ""
}

// texts are one text or a list of them.
type texts []string

// UnmarshalJSON takes a string or an array of strings.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(data, &list); err != nil {
		detail := "has to be a string or a list of strings"
		if value := strings.TrimLeft(string(data), "[ \t\r\n"); value != "" &&
			strings.ContainsRune("0123456789", rune(value[0])) {
			detail = "is a list of token numbers, which belong to another model's vocabulary: send the text itself"
		}
		return invalid("wrong_type", "", "%s", detail)
	}
	*t = list
	return nil
}

// notesOf returns what an answer says beside its passages: its notes, and which sources did not
// take part.
func notesOf(r reply.Response) []string {
	notes := slices.Clone(r.Notes)
	for _, d := range r.Degraded {
		notes = append(notes, fmt.Sprintf("left out: %s: %s", d.Source, d.Reason))
	}
	return notes
}
