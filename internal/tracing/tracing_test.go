package tracing_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/internal/tracing"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is one on loopback, which keeps what it is sent.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*wire.Span
	service string
	bodies  bytes.Buffer
	header  http.Header
	refuse  bool
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.refuse {
			http.Error(w, "full", http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(r.Body)
		var got wire.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		c.header = r.Header
		c.bodies.Write(body)
		for _, of := range got.ResourceSpans {
			for _, attribute := range of.Resource.Attributes {
				if attribute.Key == "service.name" {
					c.service = attribute.Value.GetStringValue()
				}
			}
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// variables looks names up as in an environment.
func variables(of map[string]string) func(string) string {
	return func(name string) string { return of[name] }
}

// TestSpans asks a server once, below a span of the caller, and looks at what the
// collector got: a span of the request, and one of each stage within it.
func TestSpans(t *testing.T) {
	c := startCollector(t)
	tracer, shut, err := tracing.Open(t.Context(), variables(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-team=search, x-key=a%20b"}), slog.New(slog.DiscardHandler), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	// The server ends with this part, and with it every request and its span.
	t.Run("asked", func(t *testing.T) {
		url := realclients.Server(t, realclients.ServerOptions{Tracer: tracer})
		for _, path := range []string{"/v1/search?q=unspeakable", "/livez"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		}
	})
	if err := shut(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.service != "conclave" || c.header.Get("X-Team") != "search" || c.header.Get("X-Key") != "a b" {
		t.Errorf("service %q, header %v", c.service, c.header)
	}
	if bytes.Contains(c.bodies.Bytes(), []byte("unspeakable")) {
		t.Error("the spans hold the question")
	}
	var root *wire.Span
	for _, span := range c.spans {
		if hex.EncodeToString(span.TraceId) != trace {
			t.Errorf("%s is of another trace", span.Name)
		}
		if hex.EncodeToString(span.ParentSpanId) == parent {
			root = span
		}
	}
	if root == nil || root.Name != "GET /v1/search" || root.Kind != wire.Span_SPAN_KIND_SERVER {
		t.Fatalf("the request's span is %v of %v", root, c.spans)
	}
	stages := map[string]int{}
	for _, span := range c.spans {
		if span == root {
			continue
		}
		stages[span.Name]++
		if !bytes.Equal(span.ParentSpanId, root.SpanId) || span.StartTimeUnixNano < root.StartTimeUnixNano ||
			span.EndTimeUnixNano > root.EndTimeUnixNano ||
			span.EndTimeUnixNano < span.StartTimeUnixNano {
			t.Errorf("%s is not within its request", span.Name)
		}
	}
	for _, want := range []string{"base encode", "base search", "bm25 search", "sources", "complete", "fuse", "fetch"} {
		if stages[want] != 1 {
			t.Errorf("%d spans %q of %v", stages[want], want, stages)
		}
	}
}

// TestLostSpans: a collector that refuses is named in the log once, and nothing fails.
func TestLostSpans(t *testing.T) {
	c := startCollector(t)
	c.refuse = true
	log := &testenv.Buffer{}
	tracer, shut, err := tracing.Open(
		t.Context(),
		variables(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/v1/traces"}),
		slog.New(slog.NewTextHandler(log, nil)),
		"",
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 { // several batches
		_, span := tracer.Start(t.Context(), "x")
		span.End()
	}
	if err := shut(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "spans are lost"); n != 1 || !strings.Contains(log.String(), c.URL) {
		t.Errorf("told %d times: %s", n, log.String())
	}
}

func TestVariables(t *testing.T) {
	for name, of := range map[string]map[string]string{
		"nothing":       {},
		"disabled":      {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"other signals": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		if tracer, shut, err := tracing.Open(t.Context(), variables(of), nil, ""); tracer != nil || err != nil ||
			shut(t.Context()) != nil {
			t.Errorf("%s: %v, %v", name, tracer, err)
		}
	}
	for says, of := range map[string]map[string]string{
		"http://":       {"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318"},
		"http/protobuf": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		"milliseconds":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TIMEOUT": "10s"},
		"percent":       {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS": "a=%zz"},
	} {
		if _, _, err := tracing.Open(t.Context(), variables(of), nil, ""); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", of, err)
		}
	}
}
