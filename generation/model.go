package generation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Endpoint says where a model is.
type Endpoint struct {
	Address   string // of its interface: http://127.0.0.1:11434/v1
	Model     string // its name there
	Key       string // "": none is sent
	Timeout   time.Duration
	MaxTokens int // that it writes, where a request does not say
}

// Model writes answers by a model behind an Endpoint. Its methods are safe for concurrent use.
type Model struct {
	endpoint Endpoint
	client   openai.Client
}

// NewModel returns the model behind an endpoint. Nothing is sent yet.
func NewModel(e Endpoint) (*Model, error) {
	u, err := url.Parse(e.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the address %q is none of http or https, such as http://127.0.0.1:11434/v1", e.Address)
	}
	if e.Model == "" {
		return nil, errors.New("the model has no name")
	}
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(e.Address, "/") + "/"),
		option.WithMaxRetries(0), // a reader waits: who asks decides
		option.WithHTTPClient(&http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
		option.WithAPIKey(e.Key),
	}
	if e.Key == "" {
		options = append(options, option.WithHeaderDel("authorization"))
	}
	for _, header := range []string{"openai-organization", "openai-project"} { // of the environment
		options = append(options, option.WithHeaderDel(header))
	}
	return &Model{e, openai.NewClient(options...)}, nil
}

// MaxTokens returns how many tokens the model writes where a request does not say.
func (m *Model) MaxTokens() int { return m.endpoint.MaxTokens }

// Check asks the endpoint which models it has. The error says what to do.
func (m *Model) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.endpoint.Timeout)
	defer cancel()
	page, err := m.client.Models.List(ctx)
	if err != nil {
		return m.explain(ctx, err)
	}
	var names []string
	for _, known := range page.Data {
		if known.ID == m.endpoint.Model || strings.TrimSuffix(known.ID, ":latest") == m.endpoint.Model {
			return nil
		}
		names = append(names, known.ID)
	}
	return &Error{Reason: fmt.Sprintf("%s has no model %q: it has %s", m.endpoint.Address, m.endpoint.Model,
		strings.Join(names, ", "))}
}

// Written is what a model wrote.
type Written struct {
	Text     string
	Complete bool // it ended by itself, not at the most tokens
	Tokens   int  // pieces that came, one or more characters each
}

// mostBytes is how long a token's text may be on average: a model that does not keep to the most tokens
// is cut there.
const mostBytes = 16

// Write asks the model, which writes at most maxTokens tokens. each is told the text so far whenever it
// is longer. What was written before an error is returned with it. The error is an *Error.
func (m *Model) Write(
	ctx context.Context,
	question string,
	passages []Passage,
	maxTokens int,
	each func(text string),
) (w Written, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.endpoint.Timeout)
	defer cancel()
	system, user := prompt(question, passages)
	stream := m.client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:       m.endpoint.Model,
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(user)},
		MaxTokens:   openai.Int(int64(maxTokens)),
		Temperature: openai.Float(0),
	})
	defer func() { _ = stream.Close() }()
	var text strings.Builder
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			if choice.Delta.Content != "" {
				w.Tokens++
				text.WriteString(choice.Delta.Content)
				each(text.String())
			}
			w.Complete = w.Complete || choice.FinishReason == "stop"
		}
		if text.Len() > mostBytes*maxTokens {
			w.Text, w.Complete = text.String(), false
			return w, nil
		}
	}
	w.Text = strings.TrimSpace(text.String())
	switch err := stream.Err(); {
	case err != nil:
		return w, m.explain(ctx, err)
	case w.Text == "":
		return w, &Error{Reason: "the model wrote nothing", Err: errors.New("the stream had no text")}
	}
	return w, nil
}

// Error says why a model did not answer, for people.
type Error struct {
	Reason string
	Busy   bool // it may answer later
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Advice returns what a caller is told.
func (e *Error) Advice() string { return e.Reason }

// Overloaded reports whether the model has too much to do.
func (e *Error) Overloaded() bool { return e.Busy }

// explain returns what went wrong in words. A key that a server repeats is taken out.
func (m *Model) explain(ctx context.Context, cause error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err() // whoever asked says how much time there was
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := cause.Error()
	if m.endpoint.Key != "" {
		said = strings.ReplaceAll(said, m.endpoint.Key, "…")
	}
	out := &Error{Err: errors.New(said)}
	var refused *openai.Error
	var network net.Error
	switch {
	case errors.As(cause, &refused):
		switch code := refused.StatusCode; {
		case code == http.StatusUnauthorized || code == http.StatusForbidden:
			out.Reason = "the model's server refused the key that is configured for it"
		case code == http.StatusNotFound:
			out.Reason = fmt.Sprintf("the model's server has no model %q, or no chat interface at its address", m.endpoint.Model)
		case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
			out.Reason = "the model's server has too much to do; try again in a moment"
			out.Busy = true
		case code >= 500:
			out.Reason = fmt.Sprintf("the model's server failed (status %d)", code)
		default:
			out.Reason = fmt.Sprintf("the model's server refused the request (status %d)", code)
		}
	case errors.As(cause, &network):
		out.Reason = "the model's server cannot be reached"
	default:
		out.Reason = "the model's server answered in a way that is not understood"
	}
	return out
}
