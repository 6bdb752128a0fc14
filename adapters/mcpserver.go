package adapters

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"conclave/handlers"
	"conclave/search"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modelContext is the Model Context Protocol over HTTP, without sessions.
func modelContext(collection string) []handlers.Adapter {
	offered := offer()
	return []handlers.Adapter{{Method: http.MethodPost, Path: "/mcp", Scope: handlers.ScopeSearch,
		Serve: func(w http.ResponseWriter, r *http.Request, e handlers.Engine) error {
			server := offered.server(&tools{e, collection, addressOf(r)})
			// Host and origin have been checked.
			mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, PropagateRequestCancellation: true}).ServeHTTP(w, r)
			return nil
		}}}
}

// ServeTools lets a program call the tools of a collection over a pair of streams, such
// as standard input and output, until the input ends.
func ServeTools(ctx context.Context, e handlers.Engine, collection string, in io.Reader, out io.Writer) error {
	return over(ctx, offer().server(&tools{e, collection, "conclave://" + url.PathEscape(collection)}), in, out)
}

// over runs a server over a pair of streams.
func over(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer) error {
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: kept{out}})
	if errors.Is(err, io.EOF) {
		return nil // the caller has gone
	}
	return err
}

// kept is a stream that is closed elsewhere.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// offering is what is said of the tools. A server is made for each request.
type offering struct {
	search, fetch, listExperts, explain *mcp.Tool
	schemas                             *mcp.SchemaCache
}

func offer() *offering {
	return &offering{
		search: toolOf[findInput, findOutput]("search", "Search",
			"Finds the passages of the collection that answer a question, best first. A note says when the answer is probably not in here."),
		fetch: toolOf[fetchInput, fetchOutput]("fetch", "Fetch", "Reads one passage whole, by the id of a result of search."),
		listExperts: toolOf[noInput, expertsOutput]("list_experts", "List experts",
			"Says what is searched: how many passages, and by which encoders."),
		explain: toolOf[findInput, explainOutput]("explain", "Explain",
			"Says why the first passages for a question stand where they stand: what each source contributed, which words counted, and how sure the answer is."),
		schemas: mcp.NewSchemaCache(),
	}
}

// toolOf describes a tool that only reads. The SDK lets lists and optional numbers be
// null in its schemas, which not every program that reads them understands; answers have
// no nulls.
func toolOf[In, Out any](name, title, description string) *mcp.Tool {
	closed := false
	return &mcp.Tool{Name: name, Description: description, InputSchema: schemaOf[In](), OutputSchema: schemaOf[Out](),
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}}
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a mistake in this package's types
	}
	withoutNull(s)
	return s
}

func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, property := range s.Properties {
		withoutNull(property)
	}
	withoutNull(s.Items)
}

// server serves the tools.
func (o *offering) server(t *tools) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "conclave", Title: "conclave: " + t.collection, Version: "1"},
		&mcp.ServerOptions{SchemaCache: o.schemas, Logger: slog.New(slog.DiscardHandler),
			Instructions: "Search before you answer a question about this collection, cite the url of the passages that you use, and say that you do not know where a note says that the answer is probably not in here."})
	mcp.AddTool(s, o.search, verbatim(t.search))
	mcp.AddTool(s, o.fetch, verbatim(t.fetch))
	mcp.AddTool(s, o.listExperts, verbatim(t.listExperts))
	mcp.AddTool(s, o.explain, verbatim(t.explain))
	return s
}

// verbatim gives a tool's answer to the program that calls it as it is written. The SDK
// reads answers to compare them with their schemas, and would round whole numbers beyond
// 2^53.
func verbatim[In, Out any](tool func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, Out, error)) mcp.ToolHandlerFor[In, any] {
	return func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		_, out, err := tool(ctx, r, in)
		if err != nil {
			return nil, nil, err
		}
		text, err := json.Marshal(out)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(text), Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, nil
	}
}

// relayed is a tool's answer from another server. The SDK has read its structured form,
// with rounded numbers; the text beside it is the same as it was written.
func relayed(result *mcp.CallToolResult) *mcp.CallToolResult {
	if result.StructuredContent != nil && len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && json.Valid([]byte(text.Text)) {
			result.StructuredContent = json.RawMessage(text.Text)
		}
	}
	return result
}

// strongest are the terms of an explanation that counted the most.
func strongest(terms []search.TermScore) []search.TermScore {
	terms = slices.Clone(terms)
	slices.SortStableFunc(terms, func(a, b search.TermScore) int { return cmp.Compare(b.Score, a.Score) })
	return terms[:min(len(terms), explainTerms)]
}

// RelayTools lets a program call the tools of a running server over a pair of streams: base
// is the server's address, and key is sent along unless it is "".
func RelayTools(ctx context.Context, base, key string, in io.Reader, out io.Writer) error {
	endpoint := base + "/mcp"
	client := mcp.NewClient(&mcp.Implementation{Name: "conclave", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: bearer(key)}, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	if err != nil {
		return fmt.Errorf("no tools at %s: %w", endpoint, err)
	}
	defer func() { _ = session.Close() }()
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("the tools of %s: %w", endpoint, err)
	}
	s := mcp.NewServer(session.InitializeResult().ServerInfo, &mcp.ServerOptions{Instructions: session.InitializeResult().Instructions})
	for _, tool := range listed.Tools {
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
			if err != nil {
				return nil, err
			}
			return relayed(result), nil
		})
	}
	return over(ctx, s, in, out)
}

// bearer sends a key along.
type bearer string

func (key bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(key))
	}
	return http.DefaultTransport.RoundTrip(r)
}
