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

// modelContext returns the Model Context Protocol over HTTP, without sessions.
func modelContext() []handlers.Adapter {
	all := offered()
	return []handlers.Adapter{
		{
			Method:    http.MethodPost,
			Path:      "/mcp",
			Scope:     schema.ScopeSearch,
			Cost:      front.Searching(0),
			BodyBytes: messageBytes,
			Choose:    collectionOfCall,
			Serve: func(r *http.Request, e handlers.Admitted) (handlers.Answer, error) {
				if err := checkMessage(r); err != nil {
					return handlers.Answer{}, err
				}
				var failed error // the message has one call at most
				t := &tools{engine: e, collection: collectionOf(e), base: addressOf(r, e), failed: func(err error) { failed = err }}
				answer, err := bySDK(r, serverOf(all, t))
				if isRefusal(failed) {
					return handlers.Answer{}, failed
				}
				return answer, err
			},
		},
	}
}

// collectionOfCall returns the collections that the arguments of a message's call name. Messages that
// call no tool need none.
func collectionOfCall(_ *http.Request, body []byte) (collections []string, needed bool) {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Arguments ofCollections `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &message) // Serve says what is wrong
	return message.Params.Arguments.named(), message.Method == "tools/call"
}

// isRefusal reports whether a call failed for what is of the server and not of the call, and
// may be well later: the program is told by the status, and the model nothing.
func isRefusal(err error) bool {
	var refused *schema.Problem
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusServiceUnavailable
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// messageBytes returns how large a message may be: one with a question that is as long as it may
// be, and all of it escaped. The SDK makes some copies of it.
func messageBytes(l search.Limits) int64 { return 6*int64(l.QuestionBytes) + 16<<10 }

// checkMessage refuses a list of messages: since the version 2025-06-18 the protocol has
// none, and what a request asks for is counted once. It refuses to be asked for what
// changes in the tools too, since nothing does, and who waits for it waits for ever.
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

// notAMessage returns the problem of a body that is JSON and no message that is taken here.
func notAMessage(format string, args ...any) error {
	return invalid("invalid_message", "", format, args...)
}

// bySDK lets the SDK answer a request. What its HTTP says in plain text becomes a problem;
// errors of the protocol stay as they are, and so do those of a tool, which a model reads.
func bySDK(r *http.Request, s *mcp.Server) (handlers.Answer, error) {
	r.Header = r.Header.Clone()
	r.Header.Set(
		"Accept",
		"application/json, text/event-stream",
	) // what is accepted was checked; of the two it is the first
	w := &written{header: http.Header{}}
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

// written is what the SDK answers, before it is sent.
type written struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *written) Header() http.Header { return w.header }

func (w *written) WriteHeader(status int) { w.status = cmp.Or(w.status, status) }

func (w *written) Write(text []byte) (int, error) { return w.body.Write(text) }

// ServeTools lets a program call the tools of a collection over a pair of streams, such
// as standard input and output, until the input ends.
func ServeTools(ctx context.Context, e handlers.Engine, collection string, in io.Reader, out io.Writer) error {
	base := addresses{base: "conclave://" + url.PathEscape(collection)}
	t := &tools{engine: alone{e}, collection: collection, alone: true, base: base}
	return over(ctx, serverOf(offered(), t), in, out)
}

// alone is an engine that one program has for itself.
type alone struct{ handlers.Engine }

func (alone) Costs(front.Cost) error { return nil }

func (alone) Encode(answer any, _ int) ([]byte, error) {
	var b bytes.Buffer
	err := schema.Encode(&b, answer)
	return b.Bytes(), err
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

// serverOf serves the tools.
func serverOf(all []tool, t *tools) *mcp.Server {
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

// relayed returns a tool's answer from another server. The SDK has read its structured form,
// with rounded numbers; the text beside it is the same as it was written.
func relayed(result *mcp.CallToolResult) *mcp.CallToolResult {
	if result.StructuredContent != nil && len(result.Content) == 1 {
		if text, ok := result.Content[0].(*mcp.TextContent); ok && jsontext.Value(text.Text).IsValid() {
			result.StructuredContent = jsontext.Value(text.Text)
		}
	}
	return result
}

// strongest returns the terms of an explanation that counted the most.
func strongest(terms []storage.TermScore) []storage.TermScore {
	terms = slices.Clone(terms)
	slices.SortStableFunc(terms, func(a, b storage.TermScore) int { return cmp.Compare(b.Score, a.Score) })
	return terms[:min(len(terms), explainTerms)]
}

// RelayTools lets a program call the tools of a running server over a pair of streams: base
// is the server's address, and key is sent along unless it is "".
func RelayTools(ctx context.Context, base, key string, in io.Reader, out io.Writer) error {
	endpoint := base + "/mcp"
	client := mcp.NewClient(&mcp.Implementation{Name: "conclave", Version: "1"}, nil)
	session, err := client.Connect(
		ctx,
		&mcp.StreamableClientTransport{
			Endpoint:             endpoint,
			HTTPClient:           &http.Client{Transport: bearer(key)},
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
