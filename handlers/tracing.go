package handlers

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"example.org/conclave/handlers/front"
	"example.org/conclave/internal/wording"
)

// spanOf returns the caller's span from the W3C traceparent header; the zero value if the header is missing, malformed,
// or comes twice.
func spanOf(r *http.Request) trace.SpanContext {
	if len(r.Header.Values("Traceparent")) != 1 {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(
		propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header)),
	)
}

// startSpan begins a span for a request, below the caller's (traceparent), and returns the request with it. Call end
// with the response's status. Without a tracer, and for probes, it returns the request unchanged.
func (a *API) startSpan(r *http.Request, x *front.Exchange) (_ *http.Request, end func(status int)) {
	if a.options.Tracer == nil || front.IsProbePath(r.URL.Path) {
		return r, func(int) {}
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := a.options.Tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	x.TraceID, x.SpanID = span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String()
	return r.WithContext(ctx), func(status int) {
		span.SetName(strings.TrimSpace(wording.Shorten(r.Method) + " " + x.Route))
		span.SetAttributes(
			attribute.String("http.request.method", wording.Shorten(r.Method)),
			attribute.String("http.route", x.Route), attribute.Int("http.response.status_code", status),
			attribute.String("conclave.request_id", x.RequestID),
		)
		if x.Code != "" {
			span.SetAttributes(attribute.String("error.type", x.Code))
		}
		if status >= 500 {
			span.SetStatus(codes.Error, x.Code)
		}
		span.End()
	}
}

// traceStage records a span for a stage of the request's search that has just ended after took.
func traceStage(ctx context.Context, tracer trace.Tracer, source, stage string, took time.Duration) {
	ended := time.Now()
	_, span := tracer.Start(ctx, strings.TrimSpace(source+" "+stage), trace.WithTimestamp(ended.Add(-took)),
		trace.WithAttributes(attribute.String("conclave.source", source), attribute.String("conclave.stage", stage)))
	span.End(trace.WithTimestamp(ended))
}
