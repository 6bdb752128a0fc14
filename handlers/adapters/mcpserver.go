package adapters

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/storage"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// modelContext returns the route of the Model Context Protocol over HTTP, without sessions. Errors of a call are part
// of the answer, which the model reads, unless the server is too busy (isRefusal): these become the problem of the
// request.
func modelContext() []handlers.Adapter {
	all := toolList()
	return []handlers.Adapter{
		{
			Method:    http.MethodPost,
			Path:      "/mcp",
			Scope:     schema.ScopeSearch,
			Cost:      front.Searching(0),
			BodyBytes: messageBytes,
			Choose:    collectionOfCall,
			Serve: func(r *http.Request, e handlers.AdmittedEngine) (handlers.Answer, error) {
				if err := checkMessage(r); err != nil {
					return handlers.Answer{}, err
				}
				var failed error // the message has one call at most
				t := &toolCaller{engine: e, collection: collectionOf(e), base: addressOf(r, e),
					failed: func(err error) { failed = err }}
				answer, err := answerBySDK(r, serverOf(all, t))
				if isRefusal(failed) {
					return handlers.Answer{}, failed
				}
				return answer, err
			},
		},
	}
}

// collectionOfCall returns the collections that a tool call's arguments name. needed is false for messages that call no
// tool.
func collectionOfCall(_ *http.Request, body []byte) (collections []string, needed bool) {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Arguments ofCollections `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &message) // Serve says what is wrong
	return message.Params.Arguments.collectionNames(), message.Method == "tools/call"
}

// isRefusal reports whether a call failed because of the server's state, such as its load (429, 503 and above, or no
// time left). The program is told by the status, and the model nothing, since the same call may succeed later.
func isRefusal(err error) bool {
	var refused *schema.Problem
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusServiceUnavailable
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// messageBytes returns the size limit of a message in bytes: enough for the longest question with every byte escaped,
// since the SDK makes several copies of a message.
func messageBytes(l search.Limits) int64 { return 6*int64(l.QuestionBytes) + 16<<10 }

// checkMessage returns a problem if the body is a list of messages, which the protocol no longer has since version
// 2025-06-18, or subscribes to changes of the tools, which do not change: the client would wait for ever. The body can
// be read again.
func checkMessage(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if text := bytes.TrimLeft(body, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		return notAMessage("the body is a list of messages, which are not taken: send each message in a request of its own")
	}
	var message struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &message) == nil && message.Method == "subscriptions/listen" {
		return notAMessage("subscriptions/listen is not served: the tools of a collection do not change")
	}
	return nil
}

// notAMessage returns the problem of a JSON body that is not a message that is accepted here.
func notAMessage(format string, args ...any) error {
	return fieldError("invalid_message", "", format, args...)
}

// answerBySDK returns the SDK's answer to a request as a route's answer. A text of the SDK in plain text becomes a
// problem; errors of the protocol and of tools, which a model reads, stay as they are. It replaces r's headers by a
// copy.
func answerBySDK(r *http.Request, s *mcp.Server) (handlers.Answer, error) {
	r.Header = r.Header.Clone()
	r.Header.Set(
		"Accept", "application/json, text/event-stream",
	) // what is accepted was checked; of the two it is the first
	w := &sdkResponse{header: http.Header{}}
	// Host and origin have been checked.
	mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{
			Stateless:                    true,
			JSONResponse:                 true,
			DisableLocalhostProtection:   true,
			PropagateRequestCancellation: true,
		},
	).ServeHTTP(w, r)
	switch text := w.body.Bytes(); {
	case w.status == 0 && len(text) == 0: // it gave up
		return handlers.Answer{}, cmp.Or(r.Context().Err(), errors.New("the SDK gave no answer"))
	case w.status >= http.StatusBadRequest && !strings.HasPrefix(w.header.Get("Content-Type"), "application/json"):
		return handlers.Answer{}, notAMessage("%s", strings.TrimSpace(string(text)))
	default:
		return handlers.Answer{Status: w.status, JSON: text}, nil
	}
}

// sdkResponse is a ResponseWriter that keeps what the SDK writes.
type sdkResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header to be sent. It implements http.ResponseWriter.
func (w *sdkResponse) Header() http.Header { return w.header }

// WriteHeader keeps the status, unless one was set before. It implements http.ResponseWriter.
func (w *sdkResponse) WriteHeader(status int) { w.status = cmp.Or(w.status, status) }

// Write keeps the text. It implements http.ResponseWriter. It never fails.
func (w *sdkResponse) Write(text []byte) (int, error) { return w.body.Write(text) }

// ServeTools serves a collection's tools by MCP over a pair of streams, such as standard input and output, and blocks.
// It returns nil when the input ends, and an error if a stream fails or ctx ends first. It closes neither stream.
func ServeTools(ctx context.Context, e handlers.Engine, collection string, in io.Reader, out io.Writer) error {
	base := addressBook{base: "conclave://" + url.PathEscape(collection)}
	t := &toolCaller{engine: unsharedEngine{e}, collection: collection, alone: true, base: base}
	return runOver(ctx, serverOf(toolList(), t), in, out)
}

// unsharedEngine is an engine for one program only, so that nothing has to be admitted.
type unsharedEngine struct{ handlers.Engine }

// Costs returns nil: there are no other programs to wait for.
func (unsharedEngine) Costs(front.Cost) error { return nil }

// Encode returns an answer as JSON. It fails if the answer has no JSON.
func (unsharedEngine) Encode(answer any, _ int) ([]byte, error) {
	var b bytes.Buffer
	err := schema.Encode(&b, answer)
	return b.Bytes(), err
}

// runOver runs an MCP server over a pair of streams. It returns nil when the input ends. Any other error of a stream is
// returned.
func runOver(ctx context.Context, s *mcp.Server, in io.Reader, out io.Writer) error {
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: uncloseable{out}})
	if errors.Is(err, io.EOF) {
		return nil // the caller has gone
	}
	return err
}

// uncloseable is a stream whose Close does nothing.
type uncloseable struct{ io.Writer }

// Close does nothing and returns nil.
func (uncloseable) Close() error { return nil }

// serverOf returns an MCP server with these tools, which t runs.
func serverOf(all []mcpTool, t *toolCaller) *mcp.Server {
	s := mcp.NewServer(
		&mcp.Implementation{Name: "conclave", Title: "conclave: " + t.collection, Version: "1"},
		&mcp.ServerOptions{
			Logger:       slog.New(slog.DiscardHandler),
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
			Instructions: "Search before you answer a question about this collection, cite the url of the passages that you use, and say that you do not know where a note says that the answer is probably not in here.",
		},
	)
	for _, x := range all {
		s.AddTool(x.shown, x.handler(t))
	}
	return s
}

// relayResult replaces the structured content of a tool's result, in place, by the result's text if that is JSON, and
// returns the result. The SDK has rounded the numbers in the structured form; the text has them as the other server
// wrote them.
func relayResult(result *mcp.CallToolResult) *mcp.CallToolResult {
	if result.StructuredContent != nil && len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && jsontext.Value(text.Text).IsValid() {
			result.StructuredContent = jsontext.Value(text.Text)
		}
	}
	return result
}

// strongestTerms returns the terms of an explanation with the highest scores, the highest first, at most explainTerms.
// Terms of nearness are left out. The list is new.
func strongestTerms(terms []storage.TermScore) []storage.TermScore {
	terms = slices.DeleteFunc(slices.Clone(terms), func(t storage.TermScore) bool { return t.Near })
	slices.SortStableFunc(terms, func(a, b storage.TermScore) int { return cmp.Compare(b.Score, a.Score) })
	return terms[:min(len(terms), explainTerms)]
}

// RelayTools serves the tools of a running server by MCP over a pair of streams. base is the server's address, and key
// is sent with each request unless it is "". It returns nil when the input ends, and fails if the server cannot be
// reached. It blocks until then, or until ctx ends.
func RelayTools(ctx context.Context, base, key string, in io.Reader, out io.Writer) error {
	endpoint := base + "/mcp"
	client := mcp.NewClient(&mcp.Implementation{Name: "conclave", Version: "1"}, nil)
	session, err := client.Connect(
		ctx,
		&mcp.StreamableClientTransport{
			Endpoint:             endpoint,
			HTTPClient:           &http.Client{Transport: bearerTransport(key)},
			DisableStandaloneSSE: true,
			MaxRetries:           -1,
		},
		nil,
	)
	if err != nil {
		return fmt.Errorf("no tools at %s: %w", endpoint, err)
	}
	defer func() { _ = session.Close() }()
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("the tools of %s: %w", endpoint, err)
	}
	s := mcp.NewServer(
		session.InitializeResult().ServerInfo,
		&mcp.ServerOptions{Instructions: session.InitializeResult().Instructions},
	)
	for _, tool := range listed.Tools {
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
			if err != nil {
				return nil, err
			}
			return relayResult(result), nil
		})
	}
	return runOver(ctx, s, in, out)
}

// bearerTransport is an http.RoundTripper that sends a key with each request.
type bearerTransport string

// RoundTrip sends a request with the key. It implements http.RoundTripper. It fails if the request gets no answer.
func (key bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(key))
	}
	return http.DefaultTransport.RoundTrip(r)
}
