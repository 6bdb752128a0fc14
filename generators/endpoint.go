package generators

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.org/conclave/endpoints"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Endpoint is where a model is, and how it is used.
type Endpoint struct {
	Address string // of its interface: http://127.0.0.1:11434/v1
	Model   string // its name there
	Key     string // "": none is sent
	Timeout time.Duration
	// largest number of bytes of all passages in a prompt
	PromptBytes int
	// leaves out sentences that the passages which they cite do not support
	Drop bool
}

// Model writes answers by a model behind an Endpoint. Its methods are safe for concurrent use.
type Model struct {
	endpoint Endpoint
	chat     openai.ChatCompletionService
	models   openai.ModelService
	begins   atomic.Int32 // what its answers begin with: beginsUnknown, beginsAnswer or beginsReasoning
}

// What a model begins its answers with. Until that is known, an answer is held back until it has ended, since reasoning
// may have a mark at its end alone.
const (
	beginsUnknown   = iota
	beginsAnswer    // or reasoning with a mark at its beginning
	beginsReasoning // without a mark
)

// NewModel returns the model behind an endpoint. It sends nothing yet; later requests follow no redirections, so that
// nothing goes to another address. It fails if the address is not one of http or https, or the model has no name.
func NewModel(e Endpoint) (*Model, error) {
	u, err := url.Parse(e.Address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the address %q is none of http or https, such as http://127.0.0.1:11434/v1", e.Address)
	}
	if e.Model == "" {
		return nil, errors.New("the model has no name")
	}
	// The services by themselves, since a whole client takes keys and addresses of the environment.
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(e.Address, "/") + "/"),
		option.WithMaxRetries(0), // a reader waits: who asks decides
		option.WithHTTPClient(&http.Client{
			Transport:     tolerantTransport{http.DefaultTransport},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if e.Key != "" {
		options = append(options, option.WithAPIKey(e.Key))
	}
	return &Model{
		endpoint: e, chat: openai.NewChatCompletionService(options...), models: openai.NewModelService(options...),
	}, nil
}

// mostNamed is the largest number of models that an error names.
const mostNamed = 10

// Check returns an error unless the endpoint answers and lists the model. The error says what to do. A server that
// lists no models passes. The error is an *endpoints.Error, or the context's; it waits at most the endpoint's Timeout.
func (m *Model) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.endpoint.Timeout)
	defer cancel()
	page, err := m.models.List(ctx)
	if err != nil {
		return m.explain(ctx, err)
	}
	var names []string
	for _, known := range page.Data {
		names = append(names, fmt.Sprintf("%.64q", known.ID))
		if known.ID == m.endpoint.Model || strings.TrimSuffix(known.ID, ":latest") == m.endpoint.Model {
			return nil
		}
	}
	switch n := len(names); {
	case n == 0:
		return nil // a server that lists none may have it
	case n > mostNamed:
		names = append(slices.Clip(names[:mostNamed]), "others")
	}
	return &endpoints.Error{
		Reason: fmt.Sprintf("%s has no model %q: it has %s", m.endpoint.Address, m.endpoint.Model, strings.Join(names, ", ")),
	}
}
