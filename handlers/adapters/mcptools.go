package adapters

import (
	"context"
	"errors"
	"slices"
	"strings"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/search/fault"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolCopies is how often a tool's answer, as JSON, is in memory at once at the most: as a
// string of JSON once more, which takes up to twice as much, and in the copies that the SDK
// makes on the way to the connection.
const toolCopies = 12

// mcpTool is a tool's description for programs, and the function that runs it.
type mcpTool struct {
	shown *mcp.Tool
	call  func(ctx context.Context, t *toolCaller, arguments []byte) (*mcp.CallToolResult, error)
}

// toolOf returns a tool that only reads. It decodes the arguments, calls do with them, and answers with do's result as
// JSON. bytes is the largest size of that JSON, for which the tool takes memory in addition to what the engine takes.
// Every tool is made by toolOf, so each has a cost. It removes null from the SDK's schemas of lists and optional
// numbers, since not every program understands it; answers have no nulls.
func toolOf[In, Out any](
	name, title, description string,
	bytes int,
	do func(t *toolCaller, ctx context.Context, in In) (Out, error),
) mcpTool {
	closed := false
	shown := &mcp.Tool{Name: name, Description: description, InputSchema: schemaOf[In](), OutputSchema: schemaOf[Out](),
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}}
	cost := front.Answering(toolCopies * bytes)
	return mcpTool{shown, func(ctx context.Context, t *toolCaller, arguments []byte) (*mcp.CallToolResult, error) {
		var in In
		if err := parseArguments(arguments, shown.InputSchema.(*jsonschema.Schema).Required, &in); err != nil {
			return nil, err
		}
		// Of a server's it was found before (collectionOfCall).
		if named, ok := any(in).(interface{ collectionNames() []string }); ok && t.alone {
			names := slices.Compact(slices.Sorted(slices.Values(named.collectionNames())))
			if all := strings.Join(names, ","); all != "" && all != t.collection {
				return nil, fieldError(collections.Unknown, "/collection", "there is no collection %.64q here", all)
			}
		}
		if err := t.engine.Costs(cost); err != nil {
			return nil, err
		}
		out, err := do(t, ctx, in)
		if err != nil {
			return nil, err
		}
		text, err := t.engine.Encode(out, toolCopies)
		if err != nil {
			return nil, err
		}
		text = text[:len(text)-1] // without the end of the line
		return &mcp.CallToolResult{
			Content:           []mcp.Content{&mcp.TextContent{Text: string(text)}},
			StructuredContent: jsontext.Value(text),
		}, nil
	}}
}

// parseArguments decodes a tool's arguments into into. It fails if one is unknown, of the wrong type, or required and
// missing. No arguments, or null, count as an empty object.
func parseArguments(arguments []byte, required []string, into any) error {
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	given := map[string]jsontext.Value{}
	if err := json.Unmarshal(arguments, &given); err != nil {
		return bodyError(arguments, err)
	}
	for _, name := range required {
		if _, ok := given[name]; !ok {
			return fieldError("missing_field", "/"+name, "the argument %q is missing", name)
		}
	}
	if err := json.Unmarshal(arguments, into, json.RejectUnknownMembers(true)); err != nil {
		return bodyError(arguments, err)
	}
	return nil
}

// handler returns the function by which the SDK calls the tool. An error is part of the result, so that the model reads
// it.
func (x mcpTool) handler(t *toolCaller) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result, err := x.call(ctx, t, r.Params.Arguments)
		if err != nil {
			if t.failed != nil {
				t.failed(err)
			}
			result = &mcp.CallToolResult{}
			result.SetError(withoutCause(err))
		}
		return result, nil
	}
}

// withoutCause returns an error for the model with the text of a *fault.Error or *schema.Problem alone, without the
// cause behind it, which only the log has. For a deadline and for any other error it has a general sentence.
func withoutCause(err error) error {
	var known *fault.Error
	var problem *schema.Problem
	switch {
	case errors.As(err, &known):
		return errors.New(known.Detail)
	case errors.As(err, &problem):
		return errors.New(problem.Detail)
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the time ran out before there was an answer")
	}
	return errors.New("the server failed in a way that it did not expect")
}

// schemaOf returns the JSON schema of a Go type, without nulls. It panics if the type has no schema, which is a mistake
// in this package.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a mistake in this package's types
	}
	withoutNull(s)
	return s
}

// withoutNull lets a schema, and those of its properties and items at any depth, allow one type where they allow null
// or that type, in place. Other lists of types stay: jsonschema makes none of Go types. It does nothing for nil.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type = s.Types[1]
		s.Types = nil
	}
	for _, property := range s.Properties {
		withoutNull(property)
	}
	withoutNull(s.Items)
}

// toolList returns the tools that every collection has: search, answer, fetch, list_experts and explain.
func toolList() []mcpTool {
	return []mcpTool{
		toolOf(
			"search", "Search",
			"Finds the passages of the collection that answer a question, best first. A note says when the answer is probably not in here.",
			toolResults*(4*snippetBytes+3*snippetBytes/4+citedBytes), (*toolCaller).search,
		),
		toolOf(
			"answer", "Answer",
			"Answers a question from the collection, in sentences that cite passages, or in the passages' own words; says where the collection has no answer.",
			answerBytes+toolResults*(3*snippetBytes/4+citedBytes), (*toolCaller).answer,
		),
		toolOf("fetch", "Fetch", "Reads one passage whole, by the id of a result of search, or the document that it is of, by that one's id.",
			fetchBytes+2*metadataBytes, (*toolCaller).fetch),
		toolOf("list_experts", "List experts",
			"Says what is searched: how many passages, and by which encoders.", 4<<10, (*toolCaller).listExperts),
		toolOf(
			"explain", "Explain",
			"Says why the first passages for a question stand where they stand: what each source contributed, which words counted, and how sure the answer is.",
			explained*(snippetBytes/4+4<<10), (*toolCaller).explain,
		),
	}
}
