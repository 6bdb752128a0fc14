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
	totals := &countedFiles{counted: map[countedCollection]countedGeneration{}}
	for _, some := range [][]handlers.Adapter{
		modelContext(), openAI(), chatRoutes(), storeRoutes(totals), storeFiles(totals), rerankRoutes(), difyRoutes(),
	} {
		all = append(all, some...)
	}
	return all
}

// serveBody returns a route that decodes the request's JSON body, calls do with it, and answers with do's result as
// JSON. A body with an option that conclave does not support is refused, so that nobody believes that it had an effect.
func serveBody[In, Out any](
	do func(ctx context.Context, e handlers.Engine, in In) (Out, error),
) func(*http.Request, handlers.AdmittedEngine) (handlers.Answer, error) {
	return func(r *http.Request, e handlers.AdmittedEngine) (answer handlers.Answer, err error) {
		in, err := readInto[In](r)
		if err != nil {
			return answer, err
		}
		answer.Value, err = do(r.Context(), e, in)
		return answer, err
	}
}

// readInto returns a request's JSON body as a value. It returns a problem if the body has an unknown field or does not
// fit. It reads the body to its end.
func readInto[In any](r *http.Request) (in In, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(body, &in, json.RejectUnknownMembers(true)); err != nil {
		return in, bodyError(body, err)
	}
	return in, nil
}

// bodyError returns the problem that answers a request whose body cannot be decoded. err is the decoder's error, not
// nil. The problem has the code of a *fault.Error in err, else not_json, unknown_field or wrong_type, and names the
// field if err does.
func bodyError(body []byte, err error) error {
	var own *fault.Error
	var at *json.SemanticError
	pointer, name := "", ""
	if errors.As(err, &at) {
		pointer = string(at.JSONPointer)
		name = strings.TrimPrefix(pointer, "/")
	}
	switch {
	case errors.As(err, &own):
		return fieldError(own.Code, pointer, "%s %s", name, own.Detail)
	case len(body) == 0:
		return fieldError("not_json", "", "the body is empty: it has to be a JSON object")
	case errors.Is(err, json.ErrUnknownName):
		return fieldError("unknown_field", pointer, "%s is not supported here: leave it out", name)
	case pointer != "" && at.JSONKind != jsontext.KindInvalid:
		return fieldError(
			"wrong_type", pointer, "%s is of another type than it has to be: a %s is no %s", name, at.JSONKind,
			at.GoType,
		)
	}
	return fieldError("not_json", "", "the body is not the JSON that is taken here: %v", err)
}

// fieldError returns a *fault.Error of kind Invalid with a code and a text for users (fmt.Sprintf), for the part of the
// request that the JSON pointer locates; "" for the whole request.
func fieldError(code, pointer, format string, args ...any) error {
	e := &fault.Error{Kind: fault.Invalid, Code: code, Detail: fmt.Sprintf(format, args...)}
	if pointer != "" {
		e.Fields = []fault.FieldError{{Pointer: pointer, Detail: e.Detail}}
	}
	return e
}

// collectionInPath returns the collection in the path of a request; needed is true, also for a path without one, such
// as /v1/files, which is of the default collection. It implements handlers.Adapter.Choose.
func collectionInPath(r *http.Request, _ []byte) (collections []string, needed bool) {
	if name := r.PathValue("collection"); name != "" {
		return []string{name}, true
	}
	return nil, true // as of /v1/files
}

// collectionOf returns the name of the collection that an engine searches; "" if the engine does not know its name, as
// that of a server over standard input and output.
func collectionOf(e handlers.Engine) string {
	if named, ok := e.(interface{ Collection() string }); ok {
		return named.Collection()
	}
	return ""
}

// texts is a JSON value that may be one string or a list of strings.
type texts []string

// UnmarshalJSON reads a string or an array of strings. It fails for anything else; for a list of numbers the error says
// that token numbers are not taken.
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
		return fieldError("wrong_type", "", "%s", detail)
	}
	*t = list
	return nil
}

// notesOf returns a response's notes, and a note for each source that did not take part.
func notesOf(r reply.Response) []string {
	notes := slices.Clone(r.Notes)
	for _, d := range r.Degraded {
		notes = append(notes, fmt.Sprintf("left out: %s: %s", d.Source, d.Reason))
	}
	return notes
}
