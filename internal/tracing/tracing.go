// Package tracing sends spans to a collector as OpenTelemetry's standard environment
// variables say: OTLP over HTTP, in protobuf.
//
// OpenTelemetry's own client of that protocol brings gRPC along, so the request is made
// here; what is in it, when it is sent and which requests are traced is the SDK's.
package tracing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Open returns a tracer that sends spans to the collector named by OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_EXPORTER_OTLP_ENDPOINT; nil if neither is set or other variables switch tracing off. variable returns the
// value of an environment variable, "" if it is not set. The SDK reads others by itself, such as OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES and OTEL_TRACES_SAMPLER. shut, never nil without an error, sends what waits and ends the
// tracer, which works in the background. The error is about a variable with a value that is not possible; whether
// the collector answers is not tried. version is the program's.
func Open(
	ctx context.Context,
	variable func(string) string,
	log *slog.Logger,
	version string,
) (tracer api.Tracer, shut func(context.Context) error, err error) {
	first := func(names ...string) string {
		for _, name := range names {
			if value := variable(name); value != "" {
				return value
			}
		}
		return ""
	}
	const prefix, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	address := variable(traces + "ENDPOINT")
	if base := variable(prefix + "ENDPOINT"); address == "" && base != "" {
		address = strings.TrimRight(base, "/") + "/v1/traces"
	}
	if address == "" || strings.EqualFold(variable("OTEL_SDK_DISABLED"), "true") ||
		variable("OTEL_TRACES_EXPORTER") == "none" {
		return nil, func(context.Context) error { return nil }, nil
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, nil, fmt.Errorf(
			"the collector's address is %q: it has to begin with http:// or https://, such as OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318",
			address,
		)
	}
	if protocol := first(traces+"PROTOCOL", prefix+"PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, nil, fmt.Errorf(
			"OTEL_EXPORTER_OTLP_PROTOCOL is %q: only http/protobuf is supported, which collectors take on port 4318",
			protocol,
		)
	}
	c := &client{
		address: address,
		header:  http.Header{"Content-Type": {"application/x-protobuf"}},
		log:     log,
		timeout: 10 * time.Second,
	}
	if given := first(traces+"TIMEOUT", prefix+"TIMEOUT"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n <= 0 {
			return nil, nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q: it is a number of milliseconds", given)
		}
		c.timeout = time.Duration(n) * time.Millisecond
	}
	for pair := range strings.SplitSeq(first(traces+"HEADERS", prefix+"HEADERS"), ",") {
		name, value, _ := strings.Cut(pair, "=")
		value, err = url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return nil, nil, fmt.Errorf(
				"OTEL_EXPORTER_OTLP_HEADERS: the value of %q is not percent-encoded", strings.TrimSpace(name),
			)
		}
		name = strings.TrimSpace(name)
		if name != "" {
			c.header.Set(name, value)
		}
	}
	exporter, err := otlptrace.New(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	about, err := resource.Merge(
		resource.NewSchemaless(attribute.String("service.name", "conclave"), attribute.String("service.version", version)),
		resource.Environment(),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	return provider.Tracer("conclave"), provider.Shutdown, nil
}

// client posts spans to a collector over HTTP. Spans that cannot be sent are lost, and logged once until sending works
// again: the server's work goes on.
type client struct {
	address string
	header  http.Header
	timeout time.Duration
	log     *slog.Logger
	failing atomic.Bool
}

// Start does nothing. It returns nil.
func (c *client) Start(context.Context) error { return nil }

// Stop does nothing. It returns nil.
func (c *client) Stop(context.Context) error { return nil }

// UploadTraces posts spans to the collector; it logs the first failure and when sending works again, and returns nil.
// The body is OTLP's ExportTraceServiceRequest, whose one field is that of TracesData.
func (c *client) UploadTraces(ctx context.Context, spans []*wire.ResourceSpans) error {
	err := c.post(ctx, spans)
	if failing := err != nil; c.failing.Swap(failing) != failing {
		if failing {
			c.log.Warn("spans are lost: the collector does not take them", "address", c.address, "cause", err)
		} else {
			c.log.Info("the collector takes spans again", "address", c.address)
		}
	}
	return nil
}

// post sends spans in one request, within the client's timeout. It fails if the collector does not answer or
// answers with a status of 300 or more.
func (c *client) post(ctx context.Context, spans []*wire.ResourceSpans) error {
	body, err := proto.Marshal(&wire.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = c.header
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode >= 300 {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}
