package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"conclave/handlers"
	"conclave/search"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modelContext is the Model Context Protocol over HTTP, without sessions.
func modelContext(collection string) []handlers.Adapter {
	schemas := mcp.NewSchemaCache()
	return []handlers.Adapter{{Method: http.MethodPost, Path: "/mcp", Scope: handlers.ScopeSearch,
		Serve: func(w http.ResponseWriter, r *http.Request, e handlers.Engine) error {
			server := toolServer(&tools{e, collection, addressOf(r)}, schemas)
			// Host and origin have been checked.
			mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, PropagateRequestCancellation: true}).ServeHTTP(w, r)
			return nil
		}}}
}

// ServeTools lets a program call the tools of a collection over a pair of streams, such
// as standard input and output, until the input ends.
func ServeTools(ctx context.Context, e handlers.Engine, collection string, in io.Reader, out io.Writer) error {
	return over(ctx, toolServer(&tools{e, collection, "conclave://" + url.PathEscape(collection)}, nil), in, out)
}

// over runs a server over a pair of streams.
func over(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer) error {
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: kept{out}})
	if errors.Is(err, io.EOF) {
		return nil // the caller has gone
	}
	return err
}

// kept is a stream that others close.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// toolServer is a server of the tools.
func toolServer(t *tools, schemas *mcp.SchemaCache) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "conclave", Title: "conclave: " + t.collection, Version: "1"},
		&mcp.ServerOptions{SchemaCache: schemas, Logger: slog.New(slog.DiscardHandler),
			Instructions: "Search before you answer a question about this collection, cite the url of the passages that you use, and say that you do not know where a note says that the answer is probably not in here."})
	closed := false
	reads := func(title string) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "search", Annotations: reads("Search"),
		Description: fmt.Sprintf("Finds the passages of %q that answer a question, best first. A note says when the answer is probably not in here.", t.collection)}, t.search)
	mcp.AddTool(s, &mcp.Tool{Name: "fetch", Annotations: reads("Fetch"),
		Description: "Reads one passage whole, by the id of a result of search."}, t.fetch)
	mcp.AddTool(s, &mcp.Tool{Name: "list_experts", Annotations: reads("List experts"),
		Description: "Says what is searched: how many passages, and by which encoders."}, t.listExperts)
	mcp.AddTool(s, &mcp.Tool{Name: "explain", Annotations: reads("Explain"),
		Description: "Says why the first passages for a question stand where they stand: what each source contributed, which words counted, and how sure the answer is."}, t.explain)
	return s
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
			return session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
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
